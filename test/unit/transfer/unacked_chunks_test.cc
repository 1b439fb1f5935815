/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "transfer/unacked_chunks.h"

#include <deque>
#include <gtest/gtest.h>
#include <random>

namespace fuselink {

struct Chunk {
    uint32_t number;
};

} // namespace fuselink

namespace {

using fuselink::Chunk;
using fuselink::UnackedChunks;

TEST(UnackedChunks, GivesEachOutInOrder)
{
    Chunk         first{7}, second{8};
    UnackedChunks chunks;
    chunks.push(7, first);
    chunks.push(8, second);
    EXPECT_EQ(chunks.acknowledge(7), &first);
    EXPECT_EQ(chunks.acknowledge(8), &second);
    EXPECT_TRUE(chunks.empty());
}

TEST(UnackedChunks, AnAcknowledgementThatComesTwiceIsNone)
{
    Chunk         first{7}, second{8};
    UnackedChunks chunks;
    chunks.push(7, first);
    chunks.push(8, second);
    EXPECT_EQ(chunks.acknowledge(7), &first);
    EXPECT_EQ(chunks.acknowledge(7), nullptr);
    EXPECT_EQ(chunks.size(), 1u);
    EXPECT_EQ(chunks.acknowledge(8), &second);
    EXPECT_EQ(chunks.acknowledge(8), nullptr);
}

TEST(UnackedChunks, NoneThatOvertakes)
{
    Chunk         first{0}, second{1};
    UnackedChunks chunks;
    EXPECT_EQ(chunks.acknowledge(0), nullptr);
    chunks.push(0, first);
    chunks.push(1, second);
    EXPECT_EQ(chunks.acknowledge(1), nullptr);
    EXPECT_EQ(chunks.acknowledge(UINT32_MAX), nullptr);
    EXPECT_EQ(chunks.size(), 2u);
}

/* Numbers of a path go round. */
TEST(UnackedChunks, NumbersGoRound)
{
    Chunk         last{UINT32_MAX}, next{0};
    UnackedChunks chunks;
    chunks.push(UINT32_MAX, last);
    chunks.push(0, next);
    EXPECT_EQ(chunks.acknowledge(0), nullptr);
    EXPECT_EQ(chunks.acknowledge(UINT32_MAX), &last);
    EXPECT_EQ(chunks.acknowledge(0), &next);
}

TEST(UnackedChunks, WhatIsTakenCannotBeAcknowledged)
{
    Chunk         first{3}, second{4};
    UnackedChunks chunks;
    chunks.push(3, first);
    chunks.push(4, second);
    EXPECT_EQ(chunks.take(), &first);
    EXPECT_EQ(chunks.acknowledge(3), nullptr);
    size_t count = 0;
    chunks.for_each([&](const Chunk &chunk) {
        EXPECT_EQ(&chunk, &second);
        ++count;
    });
    EXPECT_EQ(count, 1u);
}

/* Whatever a peer says, and however often: each chunk comes out once, in the order
 * in which it went in. */
TEST(UnackedChunks, HostileAcknowledgementsTakeNothingTwice)
{
    std::mt19937      random(5);
    UnackedChunks     chunks;
    std::deque<Chunk> all;
    uint32_t          sent = UINT32_MAX - 500, first = sent;
    size_t            given = 0;
    for (int step = 0; step < 20000; ++step) {
        if (random() % 3 == 0) {
            all.push_back({sent});
            chunks.push(sent++, all.back());
        } else {
            const uint32_t number = first + static_cast<uint32_t>(given) - 3 +
                                    random() % 7;
            Chunk *chunk = chunks.acknowledge(number);
            if (chunk != nullptr) {
                ASSERT_EQ(chunk, &all[given]);
                ASSERT_EQ(chunk->number, number);
                ++given;
            }
        }
        ASSERT_EQ(chunks.size(), all.size() - given);
    }
    EXPECT_GT(given, 1000u);
}

} // namespace
