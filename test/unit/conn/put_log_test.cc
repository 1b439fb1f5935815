/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "conn/put_log.h"

#include <cstring>
#include <deque>
#include <gtest/gtest.h>
#include <random>
#include <string>

namespace {

using fuselink::MessageMemory;
using fuselink::PutLog;
using fuselink::wire::MessageNumber;

class PutLogTest : public testing::Test {
protected:
    void put(MessageNumber number, const std::string &bytes)
    {
        memcpy(log.reserve(bytes.size()), bytes.data(), bytes.size());
        log.commit(++serial, number, bytes.size());
    }
    std::string next()
    {
        auto       &record = log.front_unsent();
        std::string bytes(record.bytes(), record.length);
        log.note_sent();
        return bytes;
    }

    MessageMemory memory;
    PutLog        log{memory};
    uint64_t      serial = 0;
};

TEST_F(PutLogTest, DoneWhenTheMessageBehindWasTaken)
{
    put(65535, "a");
    put(65535, "b");
    put(0, "c");
    log.acknowledge(65535); /* of what is in front of them */
    EXPECT_EQ(log.puts(), 3u);
    log.acknowledge(0);
    EXPECT_EQ(log.puts(), 1u);
    log.acknowledge(0);
    EXPECT_EQ(log.puts(), 1u);
    log.acknowledge(1);
    EXPECT_TRUE(log.empty());
    EXPECT_EQ(log.bytes(), 0u);
}

TEST_F(PutLogTest, DoneWhenTheNicSaysSo)
{
    for (const char *bytes : {"a", "b", "c"}) {
        put(5, bytes);
    }
    log.done(0);
    EXPECT_EQ(log.puts(), 3u);
    log.done(2);
    EXPECT_EQ(log.puts(), 1u);
    log.done(1);
    EXPECT_EQ(log.puts(), 1u);
    EXPECT_EQ(next(), "c");
    log.done(7);
    EXPECT_TRUE(log.empty());
}

TEST_F(PutLogTest, AsksBeforeItIsFull)
{
    EXPECT_FALSE(log.ask_due());
    while (!log.ask_due()) {
        put(0, "x");
    }
    EXPECT_TRUE(log.has_room());
    log.note_asked();
    EXPECT_FALSE(log.ask_due());
    put(0, "y");
    log.done(serial - 1);
    EXPECT_FALSE(log.ask_due());
    while (log.has_room()) {
        put(0, "x");
    }
    EXPECT_TRUE(log.ask_due());
    EXPECT_LE(log.puts(), PutLog::kMaxPuts);
    log.done(serial);
    EXPECT_TRUE(log.has_room());
    EXPECT_FALSE(log.ask_due());
}

/* Against a queue, through blocks of any size, with lanes that break. */
TEST_F(PutLogTest, HoldsWhatIsNotDone)
{
    struct Put {
        uint64_t      serial;
        MessageNumber number;
        std::string   bytes;
    };
    std::mt19937    chance(11);
    std::deque<Put> kept;
    size_t          sent   = 0;
    MessageNumber   number = 65000;
    for (int step = 0; step < 200000; ++step) {
        switch (chance() % 8) {
        case 0: case 1: case 2: {
            if (!log.has_room()) {
                break;
            }
            const size_t length = chance() % (chance() % 16 == 0 ? 50000 : 100);
            log.reserve(length + chance() % 60000); /* and not used */
            const std::string bytes(length, static_cast<char>(chance()));
            put(number, bytes);
            kept.push_back({serial, number, bytes});
            break;
        }
        case 3:
            ++number;
            break;
        case 4:
            if (!kept.empty()) {
                const uint64_t done = kept[chance() % kept.size()].serial;
                log.done(done);
                while (!kept.empty() && kept.front().serial <= done) {
                    kept.pop_front();
                    sent -= sent != 0;
                }
            }
            break;
        case 5:
            if (!kept.empty()) {
                const auto seen = static_cast<MessageNumber>(
                    kept[chance() % kept.size()].number + chance() % 2);
                log.acknowledge(seen);
                while (!kept.empty() &&
                       static_cast<int16_t>(kept.front().number - seen) < 0) {
                    kept.pop_front();
                    sent -= sent != 0;
                }
            }
            break;
        case 6:
            if (chance() % 8 == 0) {
                log.rewind();
                sent = 0;
            }
            break;
        default:
            ASSERT_EQ(log.unsent(), sent != kept.size());
            if (sent != kept.size()) {
                ASSERT_EQ(log.front_unsent().serial, kept[sent].serial);
                ASSERT_EQ(log.front_unsent().number, kept[sent].number);
                ASSERT_EQ(next(), kept[sent].bytes);
                ++sent;
            }
        }
        ASSERT_EQ(log.puts(), kept.size());
    }
}

} // namespace
