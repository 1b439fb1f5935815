/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "transfer/room_queue.h"

#include <deque>
#include <gtest/gtest.h>
#include <numeric>
#include <vector>

namespace {

using fuselink::RoomQueue;
using fuselink::RoomWaiter;
using fuselink::sched::Bytes;
using fuselink::sched::Nanos;

/* Notes its turns, and waits again if there is still no room for it. */
class Sender final : public RoomWaiter {
public:
    Sender(RoomQueue &queue, int name, std::vector<int> &turns)
        : queue_(queue), name_(name), turns_(turns)
    {
    }
    void on_room() override
    {
        turns_.push_back(name_);
        if (sends) {
            queue_.posted(Bytes(1));
        }
        if (again) {
            queue_.wait(*this);
        }
        if (leaver != nullptr) {
            queue_.leave(*leaver);
        }
    }

    bool    again  = false;
    bool    sends  = false;
    Sender *leaver = nullptr; /* goes in this one's turn */

private:
    RoomQueue        &queue_;
    int               name_;
    std::vector<int> &turns_;
};

struct Queue : ::testing::Test {
    RoomQueue        queue;
    std::vector<int> turns;
    Sender           one{queue, 1, turns}, two{queue, 2, turns},
        three{queue, 3, turns};
    Nanos            now = Nanos::seconds(1);
};

TEST_F(Queue, ServesInTurn)
{
    queue.posted(Bytes(10));
    queue.wait(two);
    queue.wait(one);
    queue.wait(two); /* stands there already */
    queue.ended(Bytes(10));
    EXPECT_TRUE(queue.due());
    EXPECT_EQ(queue.serve(now), 2u);
    EXPECT_EQ(turns, (std::vector<int>{2, 1}));
    EXPECT_TRUE(queue.empty());
    EXPECT_FALSE(queue.due());
}

/* Whoever sends without a pause does not keep the others out. */
TEST_F(Queue, WhoComesBackStandsBehind)
{
    one.again = true;
    queue.wait(one);
    queue.wait(two);
    queue.wait(three);
    queue.posted(Bytes(1));
    queue.ended(Bytes(1));
    EXPECT_EQ(queue.serve(now), 3u);
    queue.posted(Bytes(1));
    queue.ended(Bytes(1));
    EXPECT_EQ(queue.serve(now), 1u);
    EXPECT_EQ(turns, (std::vector<int>{1, 2, 3, 1}));
}

/* Something of ours is in flight, whose end will tell. */
TEST_F(Queue, WaitsForRoom)
{
    queue.posted(Bytes(10));
    queue.wait(one);
    EXPECT_EQ(queue.serve(now), 1u); /* the clock alone, the first time */
    queue.wait(one);
    EXPECT_FALSE(queue.due());
    EXPECT_EQ(queue.serve(now), 0u);
    queue.ended(Bytes(4));
    EXPECT_TRUE(queue.due());
    EXPECT_EQ(queue.serve(now), 1u);
    queue.wait(one); /* what had ended was not enough */
    EXPECT_FALSE(queue.due());
    EXPECT_EQ(queue.serve(now), 0u);
}

/* NICs are full: who has not tried need not, and is the first the next time. */
TEST_F(Queue, StopsWhenNobodySends)
{
    constexpr int      kMany = 3 * RoomQueue::kFruitless;
    std::deque<Sender> many;
    for (int name = 0; name < kMany; ++name) {
        many.emplace_back(queue, name, turns).again = true;
        queue.wait(many.back());
    }
    queue.posted(Bytes(2));
    queue.ended(Bytes(1));
    EXPECT_EQ(queue.serve(now), RoomQueue::kFruitless);
    EXPECT_TRUE(queue.due()) << "they have not tried yet";
    EXPECT_EQ(queue.serve(now), 0u);
    EXPECT_EQ(queue.serve(now + Nanos::micros(50)), RoomQueue::kFruitless);
    std::vector<int> expected(2 * RoomQueue::kFruitless);
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(turns, expected);
}

/* Who has nothing to send says nothing of NICs. */
TEST_F(Queue, AsksOnBehindThoseWhoNeedNone)
{
    constexpr int      kMany = 3 * RoomQueue::kFruitless;
    std::deque<Sender> many;
    for (int name = 0; name < kMany; ++name) {
        queue.wait(many.emplace_back(queue, name, turns));
    }
    queue.posted(Bytes(2));
    queue.ended(Bytes(1));
    EXPECT_EQ(queue.serve(now), unsigned{kMany});
    EXPECT_FALSE(queue.due());
}

/* Each who sends shows that there may be room for the next. */
TEST_F(Queue, GoesOnWhileSomeSend)
{
    constexpr int      kMany = 3 * RoomQueue::kFruitless;
    std::deque<Sender> many;
    for (int name = 0; name < kMany; ++name) {
        many.emplace_back(queue, name, turns).sends = name == 5;
        many.back().again = true;
        queue.wait(many.back());
    }
    queue.posted(Bytes(2));
    queue.ended(Bytes(1));
    EXPECT_EQ(queue.serve(now), 6 + RoomQueue::kFruitless);
}

/* What others of the node have in flight does not tell when it ends. */
TEST_F(Queue, LooksAgainAfterAWhile)
{
    queue.wait(one);
    EXPECT_TRUE(queue.due()); /* nothing of ours will end */
    EXPECT_EQ(queue.serve(now), 1u);
    queue.wait(one);
    EXPECT_EQ(queue.serve(now + Nanos::micros(1)), 0u);
    EXPECT_EQ(queue.serve(now + Nanos::millis(1)), 1u);
    EXPECT_EQ(turns.size(), 2u);
}

TEST_F(Queue, WhoHasLeftIsNotServed)
{
    one.leaver = &two;
    queue.wait(one);
    queue.wait(two);
    queue.wait(three);
    queue.leave(three);
    queue.leave(three);
    queue.posted(Bytes(1));
    queue.ended(Bytes(1));
    queue.serve(now);
    EXPECT_EQ(turns, (std::vector<int>{1}));
    EXPECT_TRUE(queue.empty());
}

} // namespace
