/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "engine/late_nics.h"

#include <gtest/gtest.h>
#include <vector>

namespace fuselink {
namespace {

using sched::Nanos;

/* The milliseconds of a minute at which it was due. */
std::vector<int64_t> due_times(LateNics &late, Nanos from)
{
    std::vector<int64_t> times;
    for (Nanos time; time < Nanos::seconds(60); time = time + Nanos::millis(10)) {
        if (late.take_due(from + time)) {
            times.push_back(time.count() / 1'000'000);
        }
    }
    return times;
}

TEST(LateNics, AreNotThoseOfTheStart)
{
    LateNics late;
    late.begin({1, 2, 5});
    late.note({1, 2, 5}, Nanos::seconds(1));
    late.note({2}, Nanos::seconds(2));
    late.note({1, 2, 5}, Nanos::seconds(3)); /* they were away */
    EXPECT_FALSE(late.waits());
    EXPECT_TRUE(due_times(late, Nanos::seconds(3)).empty());
}

TEST(LateNics, AreLookedForWhenTheyHaveSettled)
{
    LateNics late;
    late.begin({2, 5});
    late.note({2, 3, 5}, Nanos::seconds(1));
    EXPECT_TRUE(late.waits());
    EXPECT_FALSE(late.take_due(Nanos::seconds(1) + Nanos::millis(99)));
    EXPECT_TRUE(late.take_due(Nanos::seconds(1) + Nanos::millis(100)));
    late.found();
    EXPECT_FALSE(late.waits());
    late.note({2, 3, 5}, Nanos::seconds(2));
    EXPECT_FALSE(late.waits()); /* it was new once */
}

TEST(LateNics, AreLookedForAFewTimesMore)
{
    LateNics late;
    late.begin({});
    late.note({7}, Nanos::seconds(1));
    EXPECT_EQ(due_times(late, Nanos::seconds(1)),
              (std::vector<int64_t>{100, 600, 2600, 10600, 42600}));
    EXPECT_FALSE(late.waits());
}

TEST(LateNics, BeginAnewWithEachThatComes)
{
    LateNics late;
    late.begin({1});
    late.note({1, 9}, Nanos::seconds(1));
    EXPECT_TRUE(late.take_due(Nanos::seconds(2)));
    late.note({1, 4, 9}, Nanos::seconds(3));
    EXPECT_EQ(due_times(late, Nanos::seconds(3)).size(), LateNics::kLooks);
}

} // namespace
} // namespace fuselink
