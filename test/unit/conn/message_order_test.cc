/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "conn/message_order.h"

#include <gtest/gtest.h>

namespace {

using fuselink::MessageOrder;
using Place = fuselink::MessageOrder::Place;

TEST(MessageOrder, TakesEachOnce)
{
    MessageOrder order;
    EXPECT_EQ(order.take(1, 0, 10), Place::Next);
    EXPECT_EQ(order.take(1, 1, 10), Place::Next);
    EXPECT_EQ(order.take(1, 1, 10), Place::Again);
    EXPECT_EQ(order.take(1, 0, 10), Place::Again);
    EXPECT_EQ(order.take(1, 3, 10), Place::Ahead);
    EXPECT_EQ(order.distance(3), 1u);
    EXPECT_EQ(order.take(1, 2, 10), Place::Next);
    EXPECT_EQ(order.next(), 3u);
}

/* Numbers wrap around: what an old lane held back for long is not known by them. */
TEST(MessageOrder, AnEarlierLaneIsOver)
{
    MessageOrder order;
    EXPECT_EQ(order.take(1, 0, 10), Place::Next);
    order.begin_lane(2);
    EXPECT_EQ(order.take(1, 1, 10), Place::Again);
    EXPECT_EQ(order.take(2, 0, 10), Place::Again);
    EXPECT_EQ(order.take(2, 1, 10), Place::Next);
    EXPECT_EQ(order.take(3, 2, 10), Place::Next); /* begins with it */
    EXPECT_EQ(order.take(2, 3, 10), Place::Again);
    order.begin_lane(2); /* late */
    EXPECT_EQ(order.lane(), 3u);
}

TEST(MessageOrder, WrapsAround)
{
    MessageOrder order;
    for (unsigned i = 0; i < 200000; ++i) {
        ASSERT_EQ(order.take(static_cast<uint8_t>(i / 1000),
                             static_cast<uint16_t>(i), 1), Place::Next);
    }
    EXPECT_EQ(order.take(199, static_cast<uint16_t>(199999), 1), Place::Again);
}

TEST(MessageOrder, TellsAfterManyMessagesOrBytes)
{
    MessageOrder order;
    uint16_t     number = 0;
    EXPECT_FALSE(order.untold());
    for (size_t i = 0; i < MessageOrder::kTellMessages; ++i) {
        EXPECT_FALSE(order.tell_now());
        order.take(1, number++, 10);
        EXPECT_TRUE(order.untold());
    }
    EXPECT_TRUE(order.tell_now());
    EXPECT_EQ(order.tell(), number);
    EXPECT_FALSE(order.tell_now());
    EXPECT_FALSE(order.untold());
    order.take(1, number++, MessageOrder::kTellBytes);
    EXPECT_TRUE(order.tell_now());
}

/* What is in front of a message counts until that one is there, and over the last lane
 * alone. */
TEST(MessageOrderTest, InFrontOfAMessage)
{
    MessageOrder order;
    EXPECT_EQ(order.take(1, 0, 8), MessageOrder::Place::Next);
    EXPECT_FALSE(order.is_in_front(2, 0));
    EXPECT_TRUE(order.is_in_front(2, 1));
    EXPECT_TRUE(order.is_in_front(2, 1));
    EXPECT_FALSE(order.is_in_front(2, 2));
    EXPECT_FALSE(order.is_in_front(1, 1));
    EXPECT_EQ(order.next(), 1u);
    EXPECT_EQ(order.take(1, 1, 8), MessageOrder::Place::Again);
    EXPECT_EQ(order.take(2, 1, 8), MessageOrder::Place::Next);
    EXPECT_FALSE(order.is_in_front(2, 1));
}

} // namespace
