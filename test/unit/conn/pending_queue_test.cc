/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "conn/pending_queue.h"

#include "fake_connection.h"
#include "fake_lane.h"

#include <functional>
#include <gtest/gtest.h>
#include <vector>

namespace {

using fuselink::ControlChannel;
using fuselink::OrderTracker;
using fuselink::PeerUser;
using fuselink::PendingQueue;

class ChannelEvents final : public ControlChannel::Events {
public:
    void on_first_taken() override {}
    void on_drained() override {}
    void on_room() override {}
    void on_lane_error(uct_ep_h, ucs_status_t) override {}
};

class OrderEvents final : public OrderTracker::Events {
public:
    void on_users_free() override {}
    void on_bulk_free() override {}
};

struct Request {
    explicit Request(std::function<ucs_status_t()> what) : call(std::move(what))
    {
        req.func = [](uct_pending_req_t *self) {
            return reinterpret_cast<Request *>(self)->call();
        };
    }

    uct_pending_req_t             req; /* first */
    std::function<ucs_status_t()> call;
};

class PendingQueueTest : public testing::Test {
protected:
    PendingQueueTest()
    {
        begin_lane(channel, lane, rail);
        queue.attach(one);
        queue.attach(other);
        channel.set(ControlChannel::kBlocked);
    }

    /* A request that notes its name. */
    Request note(int name)
    {
        return Request([this, name] {
            called.push_back(name);
            return UCS_OK;
        });
    }
    void room()
    {
        channel.clear(ControlChannel::kBlocked);
        queue.dispatch();
    }

    FakeConnection   conn;
    FakeLane         lane;
    NamedRail        rail;
    ChannelEvents    channel_events;
    OrderEvents      order_events;
    ChannelParts   parts;
    ControlChannel   channel{conn, 1, 1, parts.memory, parts.timer,
                           channel_events};
    OrderTracker     order{conn, channel, order_events};
    PendingQueue     queue{conn, channel, order};
    PeerUser         one, other;
    std::vector<int> called;
};

TEST_F(PendingQueueTest, TakesNoneWhereThereIsRoom)
{
    channel.clear(ControlChannel::kBlocked);
    Request request = note(1);
    EXPECT_EQ(queue.add(one, &request.req), UCS_ERR_BUSY);
}

/* An operation of one that has rested: who looks at all is told, and a fence that it has
 * slept through comes first. */
TEST_F(PendingQueueTest, AnOperationEndsARest)
{
    channel.clear(ControlChannel::kBlocked);
    EXPECT_EQ(queue.admission(), UCS_OK);
    EXPECT_EQ(conn.roused, 0u);
    channel.am_short(1, 0, nullptr, 0);
    channel.set(ControlChannel::kResting);
    queue.admission();
    EXPECT_EQ(conn.roused, 1u);
    EXPECT_FALSE(order.bulk_held());

    channel.clear(ControlChannel::kResting);
    channel.set(ControlChannel::kFenceDue);
    EXPECT_EQ(queue.admission(), UCS_OK);
    EXPECT_EQ(channel.obstacles(), 0u);
    EXPECT_TRUE(order.bulk_held()) << "behind the message";
}

TEST_F(PendingQueueTest, CallsThemInOrder)
{
    Request a = note(1), b = note(2), c = note(3);
    EXPECT_EQ(queue.add(one, &a.req), UCS_OK);
    EXPECT_EQ(queue.add(one, &b.req), UCS_OK);
    EXPECT_EQ(queue.add(other, &c.req), UCS_OK);
    queue.dispatch();
    EXPECT_TRUE(called.empty());
    room();
    EXPECT_EQ(called, (std::vector<int>{1, 2, 3}));
    EXPECT_EQ(channel.obstacles(), 0u);
}

/* Its own progress calls it, and nobody else's. */
TEST_F(PendingQueueTest, AProgramThatIsAwayIsNotCalled)
{
    Request a = note(1);
    EXPECT_EQ(queue.add(one, &a.req), UCS_OK);
    conn.calls.held().begin_away();
    room();
    EXPECT_TRUE(called.empty());
    conn.calls.held().end_away();
    EXPECT_EQ(conn.deferred, 0u);
    conn.calls.held().call_all();
    EXPECT_EQ(conn.deferred, 1u);
    queue.dispatch(); /* as what is deferred does */
    EXPECT_EQ(called, std::vector<int>{1});
}

/* What comes later does not pass those that wait; they do not wait for each
 * other. */
TEST_F(PendingQueueTest, WhatComesWaitsBehindThem)
{
    ucs_status_t inside = UCS_OK;
    Request a([&] {
        inside = queue.admission();
        return UCS_OK;
    });
    ASSERT_EQ(queue.add(one, &a.req), UCS_OK);
    channel.clear(ControlChannel::kBlocked);
    EXPECT_EQ(queue.admission(), UCS_ERR_NO_RESOURCE);
    queue.dispatch();
    EXPECT_EQ(inside, UCS_OK);
    EXPECT_EQ(queue.admission(), UCS_OK);
}

/* What a request begins may end something else, whose user begins more: that is not
 * the request's, and others wait. */
TEST_F(PendingQueueTest, WhatACompletionBeginsInARequestWaitsBehindTheOthers)
{
    struct End {
        uct_completion_t      comp; /* first */
        std::function<void()> call;
    } end{};
    Request      b = note(2), c = note(3);
    ucs_status_t inside = UCS_OK, after = UCS_ERR_LAST;
    end.comp.count = 1;
    end.comp.func  = [](uct_completion_t *comp) {
        reinterpret_cast<End *>(comp)->call();
    };
    end.call = [&] {
        inside = queue.admission();
        EXPECT_FALSE(queue.in_request());
        EXPECT_EQ(queue.add(one, &c.req), UCS_OK);
    };
    Request a([&] {
        called.push_back(1);
        conn.complete(&end.comp, UCS_OK);
        after = queue.admission();
        return UCS_OK;
    });
    ASSERT_EQ(queue.add(one, &a.req), UCS_OK);
    ASSERT_EQ(queue.add(one, &b.req), UCS_OK);
    room();
    EXPECT_EQ(inside, UCS_ERR_NO_RESOURCE);
    EXPECT_EQ(after, UCS_OK);
    EXPECT_EQ(called, (std::vector<int>{1, 2, 3}));
    EXPECT_FALSE(queue.in_request());
}

TEST_F(PendingQueueTest, StopsWhereThereIsNoRoomAgain)
{
    unsigned tries = 0;
    Request a([&] {
        if (++tries == 1) {
            channel.set(ControlChannel::kBlocked);
            return UCS_ERR_NO_RESOURCE;
        }
        called.push_back(1);
        return UCS_OK;
    });
    Request b = note(2);
    ASSERT_EQ(queue.add(one, &a.req), UCS_OK);
    ASSERT_EQ(queue.add(one, &b.req), UCS_OK);
    room();
    EXPECT_TRUE(called.empty());
    room();
    EXPECT_EQ(called, (std::vector<int>{1, 2}));
}

/* A request that was refused although there is room: nothing would bring it up. */
TEST_F(PendingQueueTest, ComesBackToARequestThatWasRefused)
{
    bool    refuse = true;
    Request a([&] { return refuse ? UCS_ERR_NO_RESOURCE : UCS_OK; });
    ASSERT_EQ(queue.add(one, &a.req), UCS_OK);
    room();
    EXPECT_EQ(conn.deferred, 1u);
    EXPECT_TRUE(channel.has(ControlChannel::kQueued));
    refuse = false;
    queue.dispatch();
    EXPECT_FALSE(channel.has(ControlChannel::kQueued));
}

TEST_F(PendingQueueTest, ARequestMayDestroyItsUser)
{
    Request a([&] {
        called.push_back(1);
        queue.detach(one);
        return UCS_OK;
    });
    Request b = note(2), c = note(3);
    ASSERT_EQ(queue.add(one, &a.req), UCS_OK);
    ASSERT_EQ(queue.add(other, &b.req), UCS_OK);
    ASSERT_EQ(queue.add(other, &c.req), UCS_OK);
    room();
    queue.dispatch();
    EXPECT_EQ(called, (std::vector<int>{1, 2, 3}));
    EXPECT_FALSE(queue.has(one));
    EXPECT_TRUE(queue.has(other));
}

TEST_F(PendingQueueTest, PurgesOneUsers)
{
    Request a = note(1), b = note(2);
    ASSERT_EQ(queue.add(one, &a.req), UCS_OK);
    ASSERT_EQ(queue.add(other, &b.req), UCS_OK);
    unsigned purged = 0;
    queue.purge(one, [](uct_pending_req_t *, void *count) {
        ++*static_cast<unsigned *>(count);
    }, &purged);
    EXPECT_EQ(purged, 1u);
    room();
    EXPECT_EQ(called, std::vector<int>{2});
}

/* A put in a queue is before the fence that came while it was there. */
TEST_F(PendingQueueTest, AFenceIsRepeatedBehindWhatWaited)
{
    Request put([this] {
        order.put_sent();
        return UCS_OK;
    });
    ASSERT_EQ(queue.add(one, &put.req), UCS_OK);
    queue.note_fence();
    order.fence();
    EXPECT_FALSE(order.bulk_held());
    room();
    EXPECT_TRUE(order.bulk_held());
}

TEST_F(PendingQueueTest, NoFenceBehindWhatCameAfterIt)
{
    Request put([this] {
        order.put_sent();
        return UCS_OK;
    });
    queue.note_fence();
    order.fence();
    ASSERT_EQ(queue.add(one, &put.req), UCS_OK);
    room();
    EXPECT_FALSE(order.bulk_held());
}

/* UCP takes its requests out while it connects: which of those that come later
 * were before the fence, nobody knows. */
TEST_F(PendingQueueTest, WhatWasTakenOutIsFencedOneByOne)
{
    Request put = note(1);
    ASSERT_EQ(queue.add(one, &put.req), UCS_OK);
    queue.note_fence();
    queue.purge(one, [](uct_pending_req_t *, void *) {}, nullptr);
    order.put_sent();
    order.op_begun();
    EXPECT_TRUE(order.bulk_held());
    queue.end_strict();
    EXPECT_FALSE(one.aside);
}

TEST_F(PendingQueueTest, SaysHowTheConnectionFailed)
{
    conn.fail(UCS_ERR_CONNECTION_RESET);
    channel.set(ControlChannel::kFailed);
    EXPECT_EQ(queue.admission(), UCS_ERR_CONNECTION_RESET);
    Request request = note(1);
    EXPECT_EQ(queue.add(one, &request.req), UCS_ERR_BUSY);
}

} // namespace
