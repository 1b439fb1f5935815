/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "engine/late_nics.h"

#include <gtest/gtest.h>
#include <vector>

namespace fuselink {
namespace {

using sched::Nanos;

/* The milliseconds of a minute at which this one was due. */
std::vector<int64_t> due_times(LateNics &late, int ifindex, Nanos from)
{
    std::vector<int64_t> times;
    for (Nanos time; time < Nanos::seconds(60); time = time + Nanos::millis(10)) {
        while (int due = late.take_due(from + time)) {
            if (due == ifindex) {
                times.push_back(time.count() / 1'000'000);
            }
        }
    }
    return times;
}

TEST(LateNics, AreLookedAtWhenTheyHaveSettled)
{
    LateNics late;
    EXPECT_FALSE(late.waits());
    late.note({3}, Nanos::seconds(1));
    EXPECT_TRUE(late.waits());
    EXPECT_EQ(late.take_due(Nanos::seconds(1) + Nanos::millis(99)), 0);
    EXPECT_EQ(late.take_due(Nanos::seconds(1) + Nanos::millis(100)), 3);
    late.settle(3);
    EXPECT_FALSE(late.waits());
    late.note({3}, Nanos::seconds(2));
    EXPECT_FALSE(late.waits());
}

TEST(LateNics, AreLookedAtAFewTimesMore)
{
    LateNics late;
    late.note({7}, Nanos::seconds(1));
    EXPECT_EQ(due_times(late, 7, Nanos::seconds(1)),
              (std::vector<int64_t>{100, 600, 2600, 10600, 42600}));
    EXPECT_FALSE(late.waits());
}

TEST(LateNics, AreEachLookedAt)
{
    LateNics late;
    late.note({1, 9}, Nanos::seconds(1));
    late.settle(1);
    late.note({1, 4, 9}, Nanos::seconds(3));
    EXPECT_EQ(due_times(late, 1, Nanos::seconds(3)).size(), 0u);
    late.note({9}, Nanos::seconds(100));
    late.note({1, 4, 9}, Nanos::seconds(101));
    EXPECT_EQ(due_times(late, 4, Nanos::seconds(101)).size(), LateNics::kLooks);
}

TEST(LateNics, BeginAnewWhenTheyAreBack)
{
    LateNics late;
    late.note({5}, Nanos::seconds(1));
    EXPECT_EQ(late.take_due(Nanos::seconds(2)), 5);
    late.note({}, Nanos::seconds(3));
    EXPECT_FALSE(late.waits()); /* nothing to look at */
    late.note({5}, Nanos::seconds(4));
    EXPECT_EQ(due_times(late, 5, Nanos::seconds(4)).size(), LateNics::kLooks);
}

} // namespace
} // namespace fuselink
