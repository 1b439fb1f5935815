/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "conn/held_messages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace fuselink;

class HeldMessagesTest : public testing::Test {
protected:
    bool hold(size_t ahead, const std::string &text, uint8_t am_id = 0)
    {
        return held.hold(ahead, am_id, text.data(), text.size());
    }
    std::string take()
    {
        const auto        taken = held.take();
        const std::string text(taken.message.data, taken.message.length);
        held.free(taken);
        return text;
    }

    MessageMemory memory;
    HeldMessages  held{memory};
};

TEST_F(HeldMessagesTest, GivesEachInItsTurn)
{
    EXPECT_FALSE(held.any());
    EXPECT_TRUE(hold(2, "third", 7));
    EXPECT_TRUE(hold(1, "second"));
    EXPECT_TRUE(held.any());
    EXPECT_EQ(held.next(), nullptr); /* the first one is not here */
    held.pass();
    ASSERT_NE(held.next(), nullptr);
    EXPECT_EQ(take(), "second");
    ASSERT_NE(held.next(), nullptr);
    EXPECT_EQ(held.next()->am_id, 7);
    EXPECT_EQ(take(), "third");
    EXPECT_FALSE(held.any());
    EXPECT_EQ(held.bytes(), 0u);
}

TEST_F(HeldMessagesTest, TheSecondOfTwoIsDropped)
{
    EXPECT_TRUE(hold(1, "one"));
    EXPECT_TRUE(hold(1, "the same again"));
    EXPECT_EQ(held.bytes(), 3u);
    held.pass();
    EXPECT_EQ(take(), "one");
}

/* It comes over the lane as well, before anybody looked at what is held. */
TEST_F(HeldMessagesTest, WhatWasTakenOtherwiseIsDropped)
{
    EXPECT_TRUE(hold(1, "one"));
    EXPECT_TRUE(hold(3, "three"));
    held.pass();
    held.pass(); /* of "one", which is dropped */
    EXPECT_EQ(held.next(), nullptr);
    held.pass();
    EXPECT_EQ(take(), "three");
    EXPECT_FALSE(held.any());
}

TEST_F(HeldMessagesTest, NoMoreThanAPeerMayHaveOnItsWay)
{
    const std::string much(MessageLog::kMaxBytes / 4, 'x');
    EXPECT_FALSE(hold(MessageLog::kMaxMessages, "x"));
    EXPECT_TRUE(hold(MessageLog::kMaxMessages - 1, "x"));
    EXPECT_TRUE(hold(1, much));
    EXPECT_TRUE(hold(2, much));
    EXPECT_TRUE(hold(3, much));
    EXPECT_FALSE(hold(4, much));
    held.clear();
    EXPECT_TRUE(hold(4, much));
}

/* Of each block a few bytes stay, and the rest is delivered. */
TEST_F(HeldMessagesTest, NoMoreMemoryThanThat)
{
    const std::string most(60'000, 'x');
    size_t            rounds = 0;
    while (rounds < 4000 && hold(8000 - rounds, "y") && hold(1, most)) {
        held.pass();
        EXPECT_EQ(take(), most);
        rounds += 3;
    }
    EXPECT_GT(rounds, 3u * 16);
    EXPECT_LT(rounds, 3u * 300);
}

/* What is taken stays while the next ones are held in the same memory. */
TEST_F(HeldMessagesTest, WhatIsTakenStaysUntilItIsFreed)
{
    EXPECT_TRUE(hold(1, "first"));
    held.pass();
    const auto taken = held.take();
    for (size_t i = 1; i < 100; ++i) {
        EXPECT_TRUE(hold(i, std::string(1000, 'y')));
    }
    EXPECT_EQ(std::string(taken.message.data, taken.message.length), "first");
    held.free(taken);
}

/* Of two blocks, whichever is empty first. */
TEST_F(HeldMessagesTest, KeepsNoMemoryForNothing)
{
    const std::string much(20000, 'z');
    EXPECT_TRUE(hold(2, much));
    EXPECT_TRUE(hold(1, much)); /* in another block, and first */
    held.pass();
    take();
    take();
    EXPECT_FALSE(held.any());
}

TEST_F(HeldMessagesTest, AnyOrder)
{
    std::mt19937 random(7);
    for (unsigned round = 0; round < 200; ++round) {
        /* The first `window` messages behind `next` come in some order, each perhaps
         * twice. */
        const size_t        window = 1 + random() % 300;
        std::vector<size_t> order;
        for (size_t i = 0; i < window; ++i) {
            order.insert(order.end(), 1 + random() % 2, i);
        }
        std::shuffle(order.begin(), order.end(), random);
        size_t next = 0;
        for (const size_t number : order) {
            if (number < next) {
                continue; /* again */
            }
            if (number > next) {
                ASSERT_TRUE(hold(number - next,
                                 std::to_string(number) +
                                     std::string(random() % 2000, ' ')));
                continue;
            }
            held.pass();
            ++next;
            while (held.any() && held.next() != nullptr) {
                ASSERT_EQ(std::stoul(take()), next);
                ++next;
            }
        }
        ASSERT_EQ(next, window);
        ASSERT_FALSE(held.any());
    }
}

} // namespace
