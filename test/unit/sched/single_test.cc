/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "schedule.h"

#include <gtest/gtest.h>

namespace fuselink::sched::test {
namespace {

PathView idle(uint64_t window = 16384)
{
    return PathView{.rate = Rate(1e6),
                    .overhead = Nanos(),
                    .in_flight = Bytes(),
                    .window = Bytes(window)};
}

TEST(Single, FillsTheWindowOfHomeAndWaits)
{
    Demand demand = whole(100'000);
    demand.home = 1;
    EXPECT_EQ(schedule("single", {idle(), idle(), idle()}, demand,
                       small_limits()),
              "1:4096 1:4096 1:4096 1:4096 wait");
}

TEST(Single, HomeWrapsAround)
{
    Demand demand = whole(3000);
    demand.home = 5;
    EXPECT_EQ(schedule("single", {idle(), idle(), idle()}, demand,
                       small_limits()),
              "2:3000");
}

TEST(Single, WaitsForAClosedHomeWhateverElseIsFree)
{
    PathView closed = idle();
    closed.open = false;
    EXPECT_EQ(schedule("single", {closed, idle()}, whole(3000), small_limits()),
              "wait");
}

TEST(Single, UsesAnIdlePathOfTinyWindow)
{
    EXPECT_EQ(schedule("single", {idle(10)}, whole(3000), small_limits()),
              "0:1024 wait");
}

TEST(Single, NothingToChooseFrom)
{
    EXPECT_EQ(schedule("single", {}, whole(3000), small_limits()), "wait");
    Demand done = whole(0);
    EXPECT_FALSE(find_policy("single")->next(std::vector<PathView>{idle()},
                                             done, small_limits()));
}

} // namespace
} // namespace fuselink::sched::test
