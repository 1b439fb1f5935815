/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "conn/message_log.h"

#include <cstring>
#include <deque>
#include <gtest/gtest.h>
#include <random>
#include <string>

namespace {

using fuselink::MessageLog;
using fuselink::MessageMemory;
using fuselink::wire::MessageNumber;

void add(MessageLog &log, const std::string &text, size_t most = 0)
{
    char *bytes = log.reserve(std::max(most, text.size()));
    memcpy(bytes, text.data(), text.size());
    log.commit(7, text.size());
}

std::string text(MessageLog::Record &record)
{
    return {record.bytes(), record.length};
}

TEST(MessageLog, GivesMessagesInOrder)
{
    MessageMemory memory;
    MessageLog    log(memory);
    EXPECT_FALSE(log.unsent());
    add(log, "one");
    add(log, "two");
    EXPECT_EQ(text(log.front_unsent()), "one");
    EXPECT_EQ(log.front_unsent().am_id, 7);
    log.note_sent();
    EXPECT_EQ(text(log.front_unsent()), "two");
    log.note_sent();
    EXPECT_FALSE(log.unsent());
    EXPECT_EQ(log.messages(), 2u);
    EXPECT_EQ(log.bytes(), 6u);
}

TEST(MessageLog, GivesAgainWhatIsNotAcknowledged)
{
    MessageMemory memory;
    MessageLog    log(memory);
    for (const char *one : {"a", "b", "c"}) {
        add(log, one);
        log.note_sent();
    }
    add(log, "d");
    EXPECT_TRUE(log.acknowledge(1));
    log.rewind();
    std::string again;
    while (log.unsent()) {
        again += text(log.front_unsent());
        log.note_sent();
    }
    EXPECT_EQ(again, "bcd");
    EXPECT_EQ(log.resent(), 2u);
    EXPECT_EQ(log.first_number(), 1u);
}

/* An acknowledgement of what an earlier lane has brought. */
TEST(MessageLog, SendsNothingThatIsAcknowledgedMeanwhile)
{
    MessageMemory memory;
    MessageLog    log(memory);
    for (const char *one : {"a", "b", "c"}) {
        add(log, one);
        log.note_sent();
    }
    log.rewind();
    EXPECT_TRUE(log.acknowledge(2));
    EXPECT_EQ(text(log.front_unsent()), "c");
    EXPECT_TRUE(log.acknowledge(3));
    EXPECT_FALSE(log.unsent());
    EXPECT_TRUE(log.empty());
}

/* Acknowledgements that end where a block does. */
TEST(MessageLog, GoesOnBehindABlock)
{
    MessageMemory memory;
    MessageLog    log(memory);
    for (char c = 'a'; c <= 'l'; ++c) {
        add(log, std::string(8000, c));
        log.note_sent();
    }
    for (MessageNumber seen = 1; seen < 12; ++seen) {
        ASSERT_TRUE(log.acknowledge(seen));
        log.rewind();
        ASSERT_TRUE(log.unsent());
        EXPECT_EQ(text(log.front_unsent()),
                  std::string(8000, static_cast<char>('a' + seen)));
    }
}

TEST(MessageLog, RefusesWrongAcknowledgements)
{
    MessageMemory memory;
    MessageLog    log(memory);
    add(log, "a");
    add(log, "b");
    EXPECT_FALSE(log.acknowledge(3));
    EXPECT_TRUE(log.acknowledge(1));
    EXPECT_FALSE(log.acknowledge(0)); /* late */
    EXPECT_FALSE(log.acknowledge(0x8000));
    EXPECT_EQ(log.messages(), 1u);
}

TEST(MessageLog, IsBounded)
{
    MessageMemory     memory;
    MessageLog        log(memory);
    const std::string kilobyte(1024, 'x');
    while (log.has_room(kilobyte.size())) {
        add(log, kilobyte);
    }
    EXPECT_EQ(log.bytes(), MessageLog::kMaxBytes);
    log.acknowledge(log.next_number());
    while (log.has_room(1)) {
        add(log, "x");
    }
    EXPECT_EQ(log.messages(), MessageLog::kMaxMessages);
}

/* One message may be longer than all that several may have. */
TEST(MessageLog, TakesAnyMessageThatIsAlone)
{
    MessageMemory memory;
    MessageLog    log(memory);
    const size_t  length = MessageLog::kMaxBytes * 2;
    EXPECT_TRUE(log.has_room(length));
    add(log, std::string(length, 'y'));
    EXPECT_EQ(log.front_unsent().length, length);
    EXPECT_FALSE(log.has_room(1));
}

/* Each length, also where it ends in the midst of the last eight bytes. */
TEST(MessageLog, KeepsLongMessagesApart)
{
    MessageMemory memory;
    MessageLog    log(memory);
    for (size_t more = 0; more < 32; ++more) {
        const size_t length = MessageMemory::kBlock - 16 + more;
        add(log, std::string(length, 'z'));
        add(log, "next");
        EXPECT_EQ(text(log.front_unsent()), std::string(length, 'z'));
        log.note_sent();
        EXPECT_EQ(text(log.front_unsent()), "next");
        log.note_sent();
        log.acknowledge(log.next_number());
    }
}

/* Against a list, with numbers that wrap around. */
TEST(MessageLog, IsAListOfMessages)
{
    MessageMemory           memory;
    MessageLog              log(memory);
    std::deque<std::string> kept;
    size_t                  sent = 0;
    std::mt19937            random(3);
    for (int i = 0; i < 400000; ++i) {
        switch (random() % 8) {
        case 0:
            if (random() % 50 == 0) {
                log.rewind();
                sent = 0;
            }
            break;
        case 1: {
            const size_t n = kept.empty() ? 0 : random() % (kept.size() + 1);
            ASSERT_TRUE(log.acknowledge(
                static_cast<MessageNumber>(log.first_number() + n)));
            kept.erase(kept.begin(), kept.begin() + static_cast<long>(n));
            sent -= std::min(n, sent);
            break;
        }
        case 2:
        case 3:
        case 4:
            if (log.has_room(5000)) {
                const size_t length = random() % 30 == 0 ? random() % 5000 :
                                                           random() % 100;
                kept.emplace_back(length, static_cast<char>(i));
                add(log, kept.back(), random() % 2 == 0 ? 8192 : 0);
            }
            break;
        default:
            if (sent < kept.size()) {
                ASSERT_TRUE(log.unsent());
                ASSERT_EQ(text(log.front_unsent()), kept[sent]);
                log.note_sent();
                ++sent;
            }
        }
        ASSERT_EQ(log.messages(), kept.size());
        ASSERT_EQ(log.unsent(), sent != kept.size());
    }
}

} // namespace
