/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "conn/lane_ops.h"

#include "fake_connection.h"
#include "fake_lane.h"

#include <gtest/gtest.h>

namespace {

using fuselink::ControlChannel;
using fuselink::LaneOp;
using fuselink::LaneOps;
using fuselink::OrderTracker;
using fuselink::PeerUser;

class ChannelEvents final : public ControlChannel::Events {
public:
    void on_first_taken() override {}
    void on_drained() override {}
    void on_room() override {}
    void on_lane_error(uct_ep_h, ucs_status_t) override { ++errors; }

    unsigned errors = 0;
};

class OrderEvents final : public OrderTracker::Events {
public:
    void on_users_free() override {}
    void on_bulk_free() override {}
};

class LaneOpsTest : public testing::Test {
protected:
    /* One that the lane has begun. */
    LaneOp &begin(FakeCompletion &done)
    {
        LaneOp &op = ops.begin({});
        ops.settle(op, UCS_INPROGRESS, user, &done.comp);
        return op;
    }

    FakeConnection conn;
    ChannelEvents  channel_events;
    OrderEvents    order_events;
    ChannelParts   parts;
    ControlChannel channel{conn, 1, 1, parts.memory, parts.timer,
                           channel_events};
    OrderTracker   order{conn, channel, order_events};
    LaneOps        ops{conn, channel, order};
    PeerUser       user;
};

TEST_F(LaneOpsTest, WhatEndsAtOnceTellsNobody)
{
    FakeCompletion done;
    for (auto status : {UCS_OK, UCS_ERR_NO_RESOURCE}) {
        LaneOp &op = ops.begin({});
        EXPECT_TRUE(order.ops_open());
        ops.settle(op, status, user, &done.comp);
        EXPECT_FALSE(order.ops_open());
    }
    EXPECT_EQ(done.told, 0u);
    EXPECT_EQ(ops.open(), 0u);
    EXPECT_EQ(user.open, 0u);
}

TEST_F(LaneOpsTest, TellsItsUserWhenItEnds)
{
    FakeCompletion done;
    LaneOp &op = begin(done);
    EXPECT_EQ(user.open, 1u);
    EXPECT_TRUE(order.ops_open());
    uct_invoke_completion(&op.comp, UCS_OK);
    EXPECT_EQ(done.told, 1u);
    EXPECT_EQ(done.comp.status, UCS_OK);
    EXPECT_EQ(user.open, 0u);
    EXPECT_FALSE(order.ops_open());
}

/* It is not over, and who asks for it again has all that it was for. */
TEST_F(LaneOpsTest, OutlivesItsLane)
{
    FakeCompletion done;
    char           memory[8];
    LaneOp &op = ops.begin({memory, nullptr, sizeof(memory), 0x1000, {3, 4}});
    ops.settle(op, UCS_INPROGRESS, user, &done.comp);
    const auto epoch = op.epoch;
    uct_invoke_completion(&op.comp, UCS_ERR_ENDPOINT_TIMEOUT);
    EXPECT_EQ(done.told, 0u);
    EXPECT_EQ(channel_events.errors, 1u); /* the lane has not said so itself */
    EXPECT_EQ(conn.deferred, 1u);
    EXPECT_TRUE(ops.any_lost());
    LaneOp lost;
    ASSERT_TRUE(ops.take_lost(lost));
    EXPECT_FALSE(ops.any_lost());
    EXPECT_EQ(ops.open(), 0u);
    EXPECT_EQ(lost.user, &user);
    EXPECT_EQ(lost.user_comp, &done.comp);
    EXPECT_EQ(lost.get.buffer, memory);
    EXPECT_EQ(lost.get.length, sizeof(memory));
    EXPECT_EQ(lost.get.region.key, 4u);
    EXPECT_TRUE(order.ops_open()); /* a fence waits for it */
    EXPECT_EQ(user.open, 1u);
    order.end_op(epoch);
    EXPECT_FALSE(ops.take_lost(lost));
}

TEST_F(LaneOpsTest, LostOnesEndWithTheConnection)
{
    FakeCompletion lost, later;
    uct_invoke_completion(&begin(lost).comp, UCS_ERR_CANCELED);
    LaneOp &op = begin(later);
    conn.fail(UCS_ERR_CONNECTION_RESET);
    ops.end_lost(conn.failure());
    EXPECT_EQ(lost.told, 1u);
    EXPECT_EQ(lost.comp.status, UCS_ERR_CONNECTION_RESET);
    uct_invoke_completion(&op.comp, UCS_ERR_CANCELED);
    EXPECT_EQ(later.told, 1u);
    EXPECT_EQ(ops.open(), 0u);
    EXPECT_EQ(user.open, 0u);
}

TEST_F(LaneOpsTest, NobodyIsToldOfAUserThatIsGone)
{
    FakeCompletion done;
    LaneOp &op = begin(done);
    ops.forget(user);
    uct_invoke_completion(&op.comp, UCS_OK);
    EXPECT_EQ(done.told, 0u);
    EXPECT_EQ(ops.open(), 0u);
}

TEST_F(LaneOpsTest, EndsWhatARailForgot)
{
    FakeCompletion done[5];
    for (FakeCompletion &one : done) {
        begin(one);
    }
    EXPECT_EQ(ops.open(), 5u);
    ops.end_all(UCS_ERR_CONNECTION_RESET);
    for (const FakeCompletion &one : done) {
        EXPECT_EQ(one.told, 1u);
        EXPECT_EQ(one.comp.status, UCS_ERR_CONNECTION_RESET);
    }
    EXPECT_EQ(ops.open(), 0u);
    EXPECT_FALSE(order.ops_open());
    ops.end_all(UCS_OK);
    EXPECT_EQ(done[0].told, 1u);
}

/* Who gives up hears when the last of its operations has ended. */
TEST_F(LaneOpsTest, ComesBackToWhoGivesUp)
{
    FakeCompletion first, second;
    LaneOp &one = begin(first), &other = begin(second);
    user.cancelling = true;
    uct_invoke_completion(&one.comp, UCS_OK);
    EXPECT_EQ(conn.deferred, 0u);
    uct_invoke_completion(&other.comp, UCS_OK);
    EXPECT_EQ(conn.deferred, 1u);
}

} // namespace
