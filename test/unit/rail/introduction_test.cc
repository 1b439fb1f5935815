/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "rail/introduction.h"

#include <gtest/gtest.h>
#include <vector>

namespace fuselink {
namespace {

using sched::Nanos;

/* Of looks each 2 ms for a second those at which it was due, in milliseconds. */
std::vector<int64_t> due_times(Introduction &introduction, Nanos from)
{
    std::vector<int64_t> times;
    for (Nanos time; time < Nanos::seconds(1); time = time + Nanos::millis(2)) {
        if (introduction.due(from + time)) {
            times.push_back(time.count() / 1'000'000);
        }
    }
    return times;
}

TEST(Introduction, IsNotDueByItself)
{
    Introduction introduction;
    EXPECT_TRUE(due_times(introduction, Nanos()).empty());
    EXPECT_TRUE(due_times(introduction, Nanos::seconds(100)).empty());
}

TEST(Introduction, IsDueAtOnceAndSomeMoreTimes)
{
    Introduction introduction;
    for (Nanos from : {Nanos(), Nanos::seconds(7)}) {
        introduction.begin(from);
        EXPECT_EQ(due_times(introduction, from), (std::vector<int64_t>{0, 20, 100, 300}));
    }
}

/* Another link is back meanwhile: neither is left out, nor is one told twice at once. */
TEST(Introduction, BeginsAnewAfterAPause)
{
    Introduction introduction;
    Nanos        from = Nanos::seconds(1);
    introduction.begin(from);
    EXPECT_TRUE(introduction.due(from));
    from = from + Nanos::millis(2);
    introduction.begin(from);
    EXPECT_EQ(due_times(introduction, from), (std::vector<int64_t>{4, 20, 100, 300}));
}

/* Who looks rarely is told each time, and no more often. */
TEST(Introduction, PausesBetweenLooksThatCameLate)
{
    Introduction introduction;
    introduction.begin(Nanos::seconds(1));
    Nanos    now   = Nanos::seconds(2);
    unsigned count = 0;
    for (int i = 0; i < 40; ++i, now = now + Nanos::millis(1)) {
        count += introduction.due(now);
    }
    EXPECT_EQ(count, Introduction::kAfter.size());
}

} // namespace
} // namespace fuselink
