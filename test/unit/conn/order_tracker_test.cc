/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "conn/order_tracker.h"
#include "conn/user.h"
#include "wire/messages.h"

#include "fake_connection.h"
#include "fake_lane.h"

#include <deque>
#include <gtest/gtest.h>
#include <random>
#include <set>

namespace {

using fuselink::ControlChannel;
using fuselink::Epochs;
using fuselink::OrderTracker;
using fuselink::PeerUser;
using fuselink::wire::ControlType;

class ChannelEvents final : public ControlChannel::Events {
public:
    void on_first_taken() override {}
    void on_drained() override {}
    void on_room() override {}
    void on_lane_error(uct_ep_h, ucs_status_t) override {}
};

class OrderEvents final : public OrderTracker::Events {
public:
    void on_users_free() override { ++users; }
    void on_bulk_free() override { ++bulk; }

    unsigned users = 0, bulk = 0;
};

class OrderTrackerTest : public testing::Test {
protected:
    OrderTrackerTest() { begin_lane(channel, lane, rail); }

    ucs_status_t flush(FakeCompletion *done, PeerUser *whose = nullptr)
    {
        return order.flush(whose, done == nullptr ? nullptr : &done->comp,
                           false);
    }
    /* A user's, which the peer does not acknowledge. */
    void send_message() { channel.am_short(5, 0, nullptr, 0); }
    /* What the peer says. */
    void acknowledge(uint64_t number)
    {
        fuselink::wire::Flush message{};
        message.sn = number;
        order.on_ack(&message, sizeof(message));
    }
    unsigned asked() const { return static_cast<unsigned>(conn.sent.size()); }
    uint64_t asked_for() const
    {
        return conn.last<fuselink::wire::Flush>().sn;
    }
    bool fenced() const { return channel.has(ControlChannel::kFenced); }

    FakeConnection conn;
    FakeLane       lane;
    NamedRail      rail;
    ChannelEvents  channel_events;
    OrderEvents    events;
    ChannelParts   parts;
    ControlChannel channel{conn, 1, 1, parts.memory, parts.timer,
                           channel_events};
    OrderTracker   order{conn, channel, events};
};

/* --- flush --- */

TEST_F(OrderTrackerTest, NothingIsToBeFlushed)
{
    FakeCompletion done;
    EXPECT_EQ(flush(nullptr), UCS_OK);
    EXPECT_EQ(flush(&done), UCS_OK);
    EXPECT_EQ(done.told, 0u);
    EXPECT_EQ(lane.flush_calls, 0u);
}

TEST_F(OrderTrackerTest, AFlushWaitsForWhatBeganBefore)
{
    const auto before = order.begin_op();
    FakeCompletion done;
    EXPECT_EQ(flush(nullptr), UCS_INPROGRESS);
    EXPECT_EQ(flush(&done), UCS_INPROGRESS);
    const auto after = order.begin_op();
    EXPECT_EQ(done.told, 0u);
    order.end_op(before);
    EXPECT_EQ(done.told, 1u);
    order.end_op(after);
    EXPECT_EQ(done.told, 1u);
}

TEST_F(OrderTrackerTest, AFlushWaitsForSmallPuts)
{
    order.put_sent();
    FakeCompletion done;
    EXPECT_EQ(flush(&done), UCS_INPROGRESS);
    ASSERT_EQ(asked(), 1u);
    const uint64_t number = asked_for();
    acknowledge(number - 1);
    acknowledge(number + 1);
    acknowledge(UINT64_MAX);
    EXPECT_EQ(done.told, 0u);
    order.on_ack("short", 5);
    EXPECT_EQ(done.told, 0u);
    acknowledge(number);
    EXPECT_EQ(done.told, 1u);
    EXPECT_EQ(done.comp.status, UCS_OK);
}

TEST_F(OrderTrackerTest, AFlushAsksTheLaneForMessages)
{
    lane.flushed = UCS_INPROGRESS;
    send_message();
    FakeCompletion done, second;
    EXPECT_EQ(flush(&done), UCS_INPROGRESS);
    EXPECT_EQ(flush(&second), UCS_INPROGRESS); /* the first is under way */
    ASSERT_EQ(lane.flushes.size(), 2u);
    lane.end_flush();
    EXPECT_EQ(done.told, 1u);
    EXPECT_EQ(second.told, 0u);
    lane.end_flush();
    EXPECT_EQ(second.told, 1u);
    EXPECT_EQ(second.comp.status, UCS_OK);
    EXPECT_EQ(flush(nullptr), UCS_OK);
    EXPECT_EQ(lane.flush_calls, 2u);
}

/* The lane, which may be lost, need not be asked. */
TEST_F(OrderTrackerTest, AMessageThatThePeerHasHandledIsFlushed)
{
    send_message();
    fuselink::wire::ControlHeader seen{};
    seen.seen = 1;
    channel.on_seen(seen);
    ASSERT_EQ(channel.unseen(), 0u);
    channel.leave();
    FakeCompletion done;
    EXPECT_EQ(flush(&done), UCS_OK);
    EXPECT_EQ(flush(nullptr), UCS_OK);
    EXPECT_EQ(lane.flush_calls, 0u);
}

/* Without a lane what was sent is kept, and what is open may be waited for. */
TEST_F(OrderTrackerTest, AFlushOfAllNeedsNoLaneForWhatIsKept)
{
    send_message();
    channel.leave();
    EXPECT_EQ(order.flush_kept(false), UCS_OK);
    EXPECT_EQ(flush(nullptr), UCS_ERR_NO_RESOURCE);
    const auto op = order.begin_op();
    EXPECT_EQ(order.flush_kept(false), UCS_INPROGRESS);
    order.end_op(op);
    channel.set(ControlChannel::kQueued);
    EXPECT_EQ(order.flush_kept(false), UCS_ERR_NO_RESOURCE);
    EXPECT_EQ(order.flush_kept(true), UCS_OK);
}

/* Whether it tells when it is destroyed, as one does here, or not: what it took goes
 * over the next. */
TEST_F(OrderTrackerTest, AFlushOutlivesItsLane)
{
    lane.flushed = UCS_INPROGRESS;
    send_message();
    FakeCompletion done, second;
    EXPECT_EQ(flush(&done), UCS_INPROGRESS);
    EXPECT_EQ(flush(&second), UCS_INPROGRESS);
    lane.end_flush(UCS_ERR_CANCELED);
    EXPECT_EQ(done.told, 0u);
    order.on_lane_lost();
    channel.leave();
    order.resume_flushes();
    EXPECT_TRUE(order.flushes_wait());
    FakeLane next;
    next.flushed = UCS_INPROGRESS;
    begin_lane(channel, next, rail);
    order.resume_flushes();
    EXPECT_FALSE(order.flushes_wait());
    ASSERT_EQ(next.flushes.size(), 2u);
    lane.end_flush(UCS_ERR_CANCELED); /* late */
    EXPECT_EQ(done.told + second.told, 0u);
    next.end_flush();
    next.end_flush();
    EXPECT_EQ(done.told + second.told, 2u);
    EXPECT_EQ(second.comp.status, UCS_OK);
}

/* All three, and each may be the last. */
TEST_F(OrderTrackerTest, AFlushWaitsForAllKinds)
{
    for (int last = 0; last < 3; ++last) {
        lane.flushed  = UCS_INPROGRESS;
        const auto op = order.begin_op();
        order.put_sent();
        send_message();
        FakeCompletion done;
        ASSERT_EQ(flush(&done), UCS_INPROGRESS);
        for (int step = 1; step <= 3; ++step) {
            ASSERT_EQ(done.told, 0u);
            switch ((last + step) % 3) {
            case 0:
                order.end_op(op);
                break;
            case 1:
                acknowledge(asked_for());
                break;
            default:
                lane.end_flush();
            }
        }
        EXPECT_EQ(done.told, 1u);
    }
}

TEST_F(OrderTrackerTest, AFlushDoesNotPassRequestsThatWait)
{
    channel.set(ControlChannel::kQueued);
    EXPECT_EQ(flush(nullptr), UCS_ERR_NO_RESOURCE);
    EXPECT_EQ(order.flush(nullptr, nullptr, true), UCS_OK);
    channel.clear(ControlChannel::kQueued);
    send_message();
    channel.set(ControlChannel::kBlocked);
    EXPECT_EQ(flush(nullptr), UCS_ERR_NO_RESOURCE);
}

/* The peer's program may have no reason to look at the network. */
TEST_F(OrderTrackerTest, AFlushOfAllAsksNoPeerAboutMessages)
{
    lane.flushed = UCS_INPROGRESS;
    send_message();
    EXPECT_EQ(order.flush_written(false), UCS_OK);
    EXPECT_EQ(lane.flush_calls, 0u);
    EXPECT_EQ(asked(), 0u);
    lane.room = 0; /* the kernel has not all of it */
    EXPECT_EQ(order.flush_written(false), UCS_ERR_NO_RESOURCE);
    lane.give_room(SIZE_MAX);
    EXPECT_EQ(order.flush_written(false), UCS_OK);
    FakeCompletion done; /* that of an endpoint still asks */
    EXPECT_EQ(flush(&done), UCS_INPROGRESS);
    EXPECT_EQ(lane.flush_calls, 1u);
    EXPECT_EQ(order.flush_written(false), UCS_OK);
    lane.end_flush();
}

TEST_F(OrderTrackerTest, AFlushOfAllWaitsForTheRest)
{
    order.put_sent();
    EXPECT_EQ(order.flush_written(false), UCS_INPROGRESS);
    ASSERT_EQ(asked(), 1u);
    acknowledge(asked_for());
    EXPECT_EQ(order.flush_written(false), UCS_OK);
    const auto op = order.begin_op();
    EXPECT_EQ(order.flush_written(false), UCS_INPROGRESS);
    order.end_op(op);
    channel.set(ControlChannel::kQueued);
    EXPECT_EQ(order.flush_written(false), UCS_ERR_NO_RESOURCE);
    EXPECT_EQ(order.flush_written(true), UCS_OK);
    send_message();
    channel.set(ControlChannel::kConnecting);
    EXPECT_EQ(order.flush_written(true), UCS_ERR_NO_RESOURCE);
    channel.set(ControlChannel::kFailed);
    conn.fail(UCS_ERR_CONNECTION_RESET);
    EXPECT_EQ(order.flush_written(true), UCS_ERR_CONNECTION_RESET);
}

TEST_F(OrderTrackerTest, EndsTheFlushesOfOneUser)
{
    PeerUser one, other;
    const auto op = order.begin_op();
    FakeCompletion first, second, third;
    ASSERT_EQ(flush(&first, &one), UCS_INPROGRESS);
    ASSERT_EQ(flush(&second, &other), UCS_INPROGRESS);
    ASSERT_EQ(flush(&third, &other), UCS_INPROGRESS);
    order.end_flushes(&one, UCS_ERR_CANCELED);
    EXPECT_EQ(first.told, 1u);
    EXPECT_EQ(first.comp.status, UCS_ERR_CANCELED);
    EXPECT_EQ(second.told, 0u);
    order.forget(other);
    order.end_op(op);
    EXPECT_EQ(second.told + third.told, 0u); /* nobody to tell */
}

/* The lane keeps an operation that has ended for its user. */
TEST_F(OrderTrackerTest, TheLaneMayEndAFlushLater)
{
    lane.flushed = UCS_INPROGRESS;
    send_message();
    FakeCompletion done;
    ASSERT_EQ(flush(&done), UCS_INPROGRESS);
    order.end_flushes(nullptr, UCS_ERR_CANCELED);
    EXPECT_EQ(done.told, 1u);
    lane.end_flush();
    EXPECT_EQ(done.told, 1u);
}

/* Each ends with the last of what began before it: not sooner, not later. */
TEST_F(OrderTrackerTest, EachFlushEndsWithItsOwn)
{
    struct Flush {
        FakeCompletion done;
        std::set<int>  open;
    };
    std::mt19937          random(23);
    std::deque<Flush>     flushes;
    std::vector<std::pair<int, Epochs::Id>> ops;
    std::set<int>         open;
    for (int i = 0; i < 20000; ++i) {
        switch (random() % 5) {
        case 0:
        case 1:
            ops.emplace_back(i, order.begin_op());
            open.insert(i);
            break;
        case 2:
            flushes.emplace_back();
            flushes.back().open = open;
            ASSERT_EQ(flush(&flushes.back().done),
                      open.empty() ? UCS_OK : UCS_INPROGRESS);
            if (open.empty()) {
                flushes.pop_back();
            }
            break;
        default:
            if (!ops.empty()) {
                const size_t at        = random() % ops.size();
                const auto [name, id] = ops[at];
                ops.erase(ops.begin() + static_cast<ptrdiff_t>(at));
                open.erase(name);
                for (Flush &one : flushes) {
                    one.open.erase(name);
                }
                order.end_op(id);
            }
        }
        while (!flushes.empty() && flushes.front().done.told != 0) {
            ASSERT_TRUE(flushes.front().open.empty());
            flushes.pop_front();
        }
        for (const Flush &one : flushes) {
            ASSERT_EQ(one.done.told, one.open.empty() ? 1u : 0u);
        }
    }
    for (const auto &[name, id] : ops) {
        order.end_op(id);
    }
    for (const Flush &one : flushes) {
        EXPECT_EQ(one.done.told, 1u);
    }
}

/* --- fence --- */

TEST_F(OrderTrackerTest, AFenceHoldsUsersUntilWhatBeganHasEnded)
{
    const auto before = order.begin_op();
    order.fence();
    EXPECT_TRUE(fenced());
    const auto after = order.begin_op();
    order.look_at_fence();
    EXPECT_TRUE(fenced());
    order.end_op(before);
    EXPECT_FALSE(fenced());
    order.end_op(after);
}

TEST_F(OrderTrackerTest, TellsWhenOnlyRequestsAreLeft)
{
    const auto op = order.begin_op();
    order.fence();
    channel.set(ControlChannel::kQueued);
    order.end_op(op);
    EXPECT_EQ(events.users, 1u);
}

TEST_F(OrderTrackerTest, AFenceHoldsBulkDataBehindSmallPuts)
{
    order.put_sent();
    EXPECT_FALSE(order.bulk_held());
    order.fence();
    EXPECT_FALSE(fenced()); /* messages follow on the lane */
    EXPECT_TRUE(order.bulk_held());
    ASSERT_EQ(asked(), 1u);
    order.fence();
    EXPECT_EQ(asked(), 1u);
    acknowledge(asked_for());
    EXPECT_FALSE(order.bulk_held());
    EXPECT_EQ(events.bulk, 1u);
}

/* UCP's atomics are messages; the fence of an endpoint does not count them. */
TEST_F(OrderTrackerTest, AFenceCountsMessagesIfItIsToldTo)
{
    send_message();
    order.fence(false);
    EXPECT_FALSE(order.bulk_held());
    order.fence(true);
    EXPECT_TRUE(order.bulk_held());
    acknowledge(asked_for());
    EXPECT_FALSE(order.bulk_held());
    order.fence(true); /* nothing new */
    EXPECT_FALSE(order.bulk_held());
}

TEST_F(OrderTrackerTest, AFenceHoldsBulkDataBehindPutsOfTheLane)
{
    lane.flushed = UCS_INPROGRESS;
    order.lane_put_sent();
    order.fence();
    EXPECT_TRUE(order.bulk_held());
    EXPECT_EQ(order.before_lane_put(), UCS_OK);
    EXPECT_EQ(order.before_lane_put(), UCS_OK);
    EXPECT_EQ(lane.fences, 1u); /* once, in front of the next put */
    lane.end_flush();
    EXPECT_FALSE(order.bulk_held());
    EXPECT_EQ(events.bulk, 1u);
}

TEST_F(OrderTrackerTest, AFenceThatTheLaneCannotTellOfWaits)
{
    lane.flushed = UCS_ERR_NO_RESOURCE;
    order.lane_put_sent();
    order.fence();
    EXPECT_TRUE(order.bulk_held());
    EXPECT_EQ(conn.deferred, 1u);
    order.begin_lane_fence();
    EXPECT_TRUE(order.bulk_held());
    EXPECT_EQ(conn.deferred, 2u);
    lane.flushed = UCS_OK;
    order.begin_lane_fence();
    EXPECT_FALSE(order.bulk_held());
    EXPECT_FALSE(conn.failed());
}

TEST_F(OrderTrackerTest, BulkDataFollowsTheHello)
{
    channel.set(ControlChannel::kConnecting);
    order.fence_hello();
    order.begin_hello_fence(); /* no lane to ask on */
    EXPECT_TRUE(order.bulk_held());
    EXPECT_EQ(asked(), 0u);
    channel.clear(ControlChannel::kConnecting);
    order.begin_hello_fence();
    ASSERT_EQ(asked(), 1u);
    EXPECT_TRUE(order.bulk_held());
    acknowledge(asked_for());
    EXPECT_FALSE(order.bulk_held());
}

TEST_F(OrderTrackerTest, AStrictFenceIsBehindEachOperation)
{
    order.op_begun();
    EXPECT_EQ(conn.deferred, 0u);
    order.be_strict();
    EXPECT_FALSE(order.end_strict()); /* none has come yet */
    order.put_sent();
    order.op_begun();
    EXPECT_TRUE(order.bulk_held());
    EXPECT_EQ(conn.deferred, 1u);
    EXPECT_TRUE(order.end_strict());
    order.op_begun();
    EXPECT_EQ(conn.deferred, 1u);
}

/* --- the other side of it --- */

TEST_F(OrderTrackerTest, AnswersAtOnce)
{
    fuselink::wire::Flush message{};
    message.sn = 0x123456789;
    order.on_request(&message, sizeof(message));
    ASSERT_EQ(asked(), 1u);
    EXPECT_EQ(conn.last<fuselink::wire::Flush>().header.type,
              static_cast<uint8_t>(ControlType::FlushAck));
    EXPECT_EQ(asked_for(), 0x123456789u);
    order.on_request(&message, sizeof(message) - 1);
    EXPECT_EQ(asked(), 1u);
}

} // namespace
