/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "conn/control_queue.h"
#include "wire/messages.h"

#include <gtest/gtest.h>
#include <random>
#include <vector>

namespace {

using fuselink::ControlQueue;
using fuselink::wire::ControlType;
using Message = ControlQueue::Message;

Message message(ControlType type, uint8_t mark, size_t length = 40)
{
    Message bytes(length, mark);
    bytes[0] = static_cast<uint8_t>(type);
    return bytes;
}

TEST(ControlQueue, KeepsTheOrder)
{
    ControlQueue queue;
    for (uint8_t i = 0; i < 100; ++i) {
        ASSERT_TRUE(queue.push(message(ControlType::GetReq, i, 40 + i)));
    }
    for (uint8_t i = 0; i < 100; ++i) {
        EXPECT_EQ(queue.front(), message(ControlType::GetReq, i, 40 + i));
        queue.pop();
    }
    EXPECT_TRUE(queue.empty());
    EXPECT_EQ(queue.bytes(), 0u);
}

/* A later acknowledgement says all that the one before says. */
TEST(ControlQueue, AnAcknowledgementReplacesTheLast)
{
    for (auto type : {ControlType::FlushAck, ControlType::LoadGrant}) {
        ControlQueue queue;
        ASSERT_TRUE(queue.push(message(ControlType::GetReq, 0)));
        for (uint8_t i = 1; i < 50; ++i) {
            ASSERT_TRUE(queue.push(message(type, i)));
        }
        EXPECT_EQ(queue.bytes(), 80u);
        EXPECT_EQ(queue.answer_bytes(), 40u);
        queue.pop();
        EXPECT_EQ(queue.front(), message(type, 49));
    }
}

TEST(ControlQueue, OthersReplaceNothing)
{
    for (auto type : {ControlType::GetDone, ControlType::ChunkAck,
                      ControlType::KeyData, ControlType::PutData}) {
        ControlQueue queue;
        for (uint8_t i = 0; i < 3; ++i) {
            ASSERT_TRUE(queue.push(message(type, i)));
        }
        EXPECT_EQ(queue.bytes(), 120u);
    }
}

/* What is between two of them was sent after the first. */
TEST(ControlQueue, ReplacesOnlyTheLast)
{
    ControlQueue queue;
    ASSERT_TRUE(queue.push(message(ControlType::GetReq, 0)));
    ASSERT_TRUE(queue.push(message(ControlType::FlushAck, 1)));
    ASSERT_TRUE(queue.push(message(ControlType::GetReq, 2)));
    ASSERT_TRUE(queue.push(message(ControlType::FlushAck, 3)));
    EXPECT_EQ(queue.bytes(), 160u);
    queue.pop();
    EXPECT_EQ(queue.front(), message(ControlType::FlushAck, 1));
}

/* It may be inside the rail's call just now. */
TEST(ControlQueue, NeverReplacesTheFirst)
{
    ControlQueue queue;
    ASSERT_TRUE(queue.push(message(ControlType::FlushAck, 1)));
    const Message &first = queue.front();
    ASSERT_TRUE(queue.push(message(ControlType::FlushAck, 2)));
    EXPECT_EQ(&queue.front(), &first);
    EXPECT_EQ(first, message(ControlType::FlushAck, 1));
    EXPECT_EQ(queue.bytes(), 80u);
}

TEST(ControlQueue, BoundsAnswersAndNothingElse)
{
    constexpr size_t kLength = 1 << 20;
    constexpr size_t kMost   = ControlQueue::kMaxAnswers / kLength;
    ControlQueue queue;
    for (size_t i = 0; i < kMost; ++i) {
        ASSERT_TRUE(queue.push(message(ControlType::KeyData, 0, kLength)));
    }
    EXPECT_FALSE(queue.push(message(ControlType::GetDone, 0)));
    EXPECT_FALSE(queue.push(message(ControlType::RailAddr, 0)));
    EXPECT_EQ(queue.answer_bytes(), ControlQueue::kMaxAnswers);
    EXPECT_EQ(queue.bytes(), ControlQueue::kMaxAnswers);
    EXPECT_TRUE(queue.push(message(ControlType::GetData, 0, kLength)));
    queue.pop();
    EXPECT_TRUE(queue.push(message(ControlType::GetDone, 0)));
}

/* The two sums are those of what is in there, whatever went in and out. */
TEST(ControlQueue, CountsWhatIsThere)
{
    std::mt19937 random(5);
    ControlQueue queue;
    size_t       answers = 0, pushed = 0;
    for (int i = 0; i < 20000; ++i) {
        switch (random() % 4) {
        case 0: {
            const size_t length = 16 + random() % 100;
            ASSERT_TRUE(queue.push(message(ControlType::GetDone, 0, length)));
            break;
        }
        case 1:
            ASSERT_TRUE(queue.push(message(ControlType::FlushAck, 0)));
            break;
        case 2:
            ASSERT_TRUE(queue.push(message(ControlType::GetReq, 0)));
            break;
        default:
            if (!queue.empty()) {
                queue.pop();
            }
        }
        ASSERT_LE(queue.answer_bytes(), queue.bytes());
    }
    answers = queue.answer_bytes();
    pushed  = queue.bytes();
    while (!queue.empty()) {
        const size_t size = queue.front().size();
        pushed  -= size;
        answers -= queue.front()[0] ==
                           static_cast<uint8_t>(ControlType::GetReq) ?
                       0 : size;
        queue.pop();
    }
    EXPECT_EQ(pushed, 0u);
    EXPECT_EQ(answers, 0u);
    EXPECT_EQ(queue.answer_bytes(), 0u);
}

} // namespace
