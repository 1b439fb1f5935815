/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "engine/watch_pace.h"

#include <gtest/gtest.h>

namespace fuselink {
namespace {

using sched::Nanos;

/* A program that calls each `pause`, and finds something or nothing. */
struct Caller {
    WatchPace pace;
    Nanos     now = Nanos::seconds(1);
    unsigned  looks = 0;
    Nanos     last = now, longest; /* between two looks */

    void call(Nanos pause, bool found, unsigned times)
    {
        for (unsigned i = 0; i < times; ++i) {
            now += pause;
            if (pace.call(found)) {
                pace.looked(now);
                ++looks;
                longest = std::max(longest, now - last);
                last    = now;
            }
        }
    }
    void forget()
    {
        looks   = 0;
        longest = Nanos();
        last    = now;
    }
};

TEST(WatchPace, WhoDoesNothingElseLooksRarely)
{
    Caller caller;
    caller.call(Nanos(300), true, 1000);
    caller.forget();
    caller.call(Nanos(300), true, 128 * 100);
    EXPECT_EQ(caller.looks, 100u);
}

TEST(WatchPace, CallsThatFindNothingHaveTime)
{
    Caller caller;
    caller.call(Nanos(300), true, 1000);
    caller.forget();
    caller.call(Nanos(300), false, 128 * 100);
    EXPECT_EQ(caller.looks, 100u * WatchPace::kIdle);
}

TEST(WatchPace, WhoComputesAndCallsNowAndThenLooksEachTime)
{
    for (const bool found : {true, false}) {
        Caller caller;
        caller.call(Nanos::millis(2), found, 1000);
        caller.forget();
        caller.call(Nanos::millis(2), found, 1000);
        EXPECT_EQ(caller.looks, 1000u);
        EXPECT_EQ(caller.longest, Nanos::millis(2));
    }
}

/* The first look is late, by calls of which one at least counts for several. */
TEST(WatchPace, ItFollowsWhoBeginsToCompute)
{
    Caller caller;
    caller.call(Nanos(300), true, 10000);
    caller.forget();
    caller.call(Nanos::millis(5), false, 100);
    EXPECT_LE(caller.longest, Nanos::millis(5) * (WatchPace::kMostCalls / WatchPace::kIdle));
    EXPECT_GE(caller.looks, 100 - WatchPace::kMostCalls / WatchPace::kIdle);
}

TEST(WatchPace, ItFollowsWhoDoesNothingElseAgain)
{
    Caller caller;
    caller.call(Nanos::millis(5), false, 100);
    caller.forget();
    caller.call(Nanos(300), true, 1000);
    EXPECT_LE(caller.looks, 16u);
}

TEST(WatchPace, OneThatIsAskedForIsNext)
{
    WatchPace pace;
    pace.looked(Nanos(1));
    EXPECT_FALSE(pace.call(true));
    pace.look_next();
    EXPECT_TRUE(pace.call(true));
}

} // namespace
} // namespace fuselink
