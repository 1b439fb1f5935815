/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "schedule.h"

#include <gtest/gtest.h>

/* Golden schedules: literal cases, each with the reason for its answer. The
 * paths are of 1 MB/s, so that a byte takes a microsecond and a quantum is
 * 4000 bytes (3840 when it is not the last), unless something else is said. */
namespace fuselink::sched::test {
namespace {

PathView path(double rate, uint64_t in_flight = 0, uint64_t overhead_us = 0)
{
    return PathView{.rate = Rate(rate),
                    .overhead = Nanos::micros(int64_t(overhead_us)),
                    .in_flight = Bytes(in_flight),
                    .window = Bytes(16'000)};
}

std::string finish(std::vector<PathView> paths, Demand demand)
{
    return schedule("finish", std::move(paths), demand, small_limits());
}

TEST(Finish, BulkFillsAllWindowsAQuantumAtATime)
{
    EXPECT_EQ(finish({path(1e6), path(1e6)}, whole(1'000'000)),
              "0:3840 1:3840 0:3840 1:3840 0:3840 1:3840 0:3840 1:3840 "
              "0:3840 1:3840 wait");
}

TEST(Finish, QuantaAreEqualInTimeNotInBytes)
{
    /* All three are done with a chunk after about 4 ms, with two after 8. */
    PathView slow = path(0.5e6), fast = path(2e6);
    slow.window = Bytes(8'000);
    fast.window = Bytes(32'000);
    EXPECT_EQ(finish({path(1e6), slow, fast}, whole(3'500'000)),
              "0:3840 1:1792 2:7936 1:1792 0:3840 2:7936 1:1792 0:3840 "
              "2:7936 1:1792 0:3840 2:7936 1:1792 0:3840 2:7936 wait");
}

TEST(Finish, EqualIdlePathsShareASmallTransferEqually)
{
    EXPECT_EQ(finish({path(1e6), path(1e6), path(1e6), path(1e6)},
                     whole(4 * 1280)),
              "0:1280 1:1280 2:1280 3:1280");
}

TEST(Finish, UnequalPathsShareByRate)
{
    EXPECT_EQ(finish({path(1e6), path(2e6)}, whole(3 * 1280)), "0:1280 1:2560");
}

TEST(Finish, ABusyPathGetsLessByWhatItHasToDo)
{
    /* 1 has 1280 us of work: both are done after 3840 us. */
    EXPECT_EQ(finish({path(1e6), path(1e6, 1280)}, whole(6400)),
              "0:3840 1:2560");
}

TEST(Finish, LatencyCountsLikeWork)
{
    EXPECT_EQ(finish({path(1e6), path(1e6, 0, 1280)}, whole(6400)),
              "0:3840 1:2560");
}

TEST(Finish, WhatIsAlreadyCarriedDoesNotCount)
{
    PathView busy = path(1e6, 4000);
    busy.drained = Bytes(4000 - 1280);
    EXPECT_EQ(finish({path(1e6), busy}, whole(6400)), "0:3840 1:2560");
}

TEST(Finish, SharesTooSmallForAChunkAreMerged)
{
    /* A fourth of 3000 is below 1024, so is a third; halves are not. */
    EXPECT_EQ(finish({path(1e6), path(1e6), path(1e6), path(1e6)}, whole(3000)),
              "0:1280 1:1720");
    EXPECT_EQ(finish({path(1e6), path(1e6)}, whole(2000)), "0:2000");
    /* A slow path's share is small where a fast one's is not. */
    EXPECT_EQ(finish({path(0.1e6), path(1e6)}, whole(4000)), "1:4000");
}

TEST(Finish, HomeIsTakenAmongEquals)
{
    Demand demand = whole(1000);
    demand.home = 2;
    EXPECT_EQ(finish({path(1e6), path(1.05e6), path(1e6), path(1e6)}, demand),
              "2:1000");
    demand.home = 6; /* wraps around */
    EXPECT_EQ(finish({path(1e6), path(1.05e6), path(1e6), path(1e6)}, demand),
              "2:1000");
}

TEST(Finish, HomeIsNotTakenAtAPrice)
{
    Demand demand = whole(1000);
    demand.home = 2;
    EXPECT_EQ(finish({path(1e6), path(1.2e6), path(1e6)}, demand), "1:1000");
    EXPECT_EQ(finish({path(1e6), path(1e6), path(1e6, 500)}, demand), "0:1000");
}

TEST(Finish, WaitsForAFullFastPathWhereASlowOneWouldFinishLater)
{
    /* The fast one needs 3.2 ms for what it has and 0.4 ms for the rest; the
     * slow one would need 20 ms. */
    EXPECT_EQ(finish({path(0.1e6), path(5e6, 16'000)}, whole(2000)), "wait");
}

TEST(Finish, DoesNotWaitWhereTheSlowPathIsDoneFirst)
{
    EXPECT_EQ(finish({path(1e6), path(5e6, 16'000)}, whole(2000)), "0:2000");
}

TEST(Finish, GivesTheFreePathItsShareAndWaitsWithTheRest)
{
    /* Level: (16000 + 9000) / 6e6 = 4.17 ms; the slow path's share is 4166,
     * the rest waits for room on the fast one. */
    EXPECT_EQ(finish({path(1e6), path(5e6, 16'000)}, whole(9000)),
              "0:4096 wait");
}

TEST(Finish, BacklogMakesWaitingWrong)
{
    /* As in the case of waiting above, but so much follows that the slow path
     * will be needed anyway. */
    Demand demand = whole(2000);
    demand.backlog = Bytes(1'000'000);
    EXPECT_EQ(finish({path(0.1e6), path(5e6, 16'000)}, demand), "0:2000");
}

TEST(Finish, AClosedBusyPathCountsForWaiting)
{
    PathView closed = path(5e6, 2000);
    closed.open = false;
    EXPECT_EQ(finish({path(0.1e6), closed}, whole(2000)), "wait");
}

TEST(Finish, AClosedIdlePathDoesNotSinceNothingWouldWakeUs)
{
    PathView closed = path(5e6);
    closed.open = false;
    EXPECT_EQ(finish({path(0.1e6), closed}, whole(2000)), "0:2000");
}

TEST(Finish, NeverWaitsWhenNothingIsInFlight)
{
    EXPECT_EQ(finish({path(1, 0, 1'000'000'000)}, whole(2000)), "0:2000");
    EXPECT_EQ(finish({path(0), path(0)}, whole(2000)), "0:2000");
}

TEST(Finish, WaitsWhenAllAreFullOrClosed)
{
    PathView closed = path(1e6, 1000);
    closed.open = false;
    EXPECT_EQ(finish({path(1e6, 16'000), closed}, whole(100'000)), "wait");
    EXPECT_EQ(finish({}, whole(100'000)), "wait");
}

TEST(Finish, AnIdlePathOfTinyWindowIsUsable)
{
    PathView tiny = path(1e6);
    tiny.window = Bytes(10);
    EXPECT_EQ(finish({tiny}, whole(5000)), "0:1024 wait");
}

TEST(Finish, ASmallWindowMeansSmallChunks)
{
    PathView small = path(1e6);
    small.window = Bytes(6144);
    EXPECT_EQ(finish({small}, whole(50'000)), "0:1536 0:1536 0:1536 0:1536 "
                                              "wait");
}

TEST(Finish, TheLastChunkIsNotGivenToAPathWithPlentyToDo)
{
    /* 6 ms of work are one and a half chunk times. */
    EXPECT_EQ(finish({path(1e6, 6100)}, whole(5000)), "wait");
    EXPECT_EQ(finish({path(1e6, 5900)}, whole(5000)), "0:5000");
    /* In the middle of a transfer the window is filled all the same. */
    EXPECT_EQ(finish({path(1e6, 6100)}, whole(50'000)),
              "0:3840 0:3840 0:3840 wait");
}

TEST(Finish, AnUnprovedPathIsTriedWithOneSmallestChunk)
{
    PathView guess = path(0.01e6);
    guess.probe = true;
    EXPECT_EQ(finish({path(1e6), guess}, whole(20'000)),
              "1:1024 0:3840 0:3840 0:3840 wait");
    /* Not for little, not twice, and not when nothing is in doubt. */
    EXPECT_EQ(finish({path(1e6), guess}, whole(4000)), "0:4000");
    guess.in_flight = Bytes(1024);
    EXPECT_EQ(finish({path(1e6), guess}, whole(17'000)),
              "0:3840 0:3840 0:3840 wait");
    guess.in_flight = Bytes();
    guess.probe = false;
    EXPECT_EQ(finish({path(1e6), guess}, whole(17'000)),
              "0:3840 0:3840 0:3840 wait");
}

TEST(Finish, AnUnprovedPathThatCannotBeBackInTimeIsNotTried)
{
    PathView far = path(0.01e6, 0, 1'000'000);
    far.probe = true;
    EXPECT_EQ(finish({path(1e6), far}, whole(17'000)),
              "0:3840 0:3840 0:3840 wait");
}

TEST(Finish, WhatOthersHaveAheadCountsLikeBytesInFlight)
{
    PathView shared = path(1e6);
    shared.ahead = Bytes(1280);
    EXPECT_EQ(finish({path(1e6), shared}, whole(6400)), "0:3840 1:2560");
}

TEST(Finish, ATakenPathIsNeitherUsedNorWaitedFor)
{
    PathView taken = path(5e6, 2000);
    taken.standing = PathView::Standing::Taken;
    EXPECT_EQ(finish({path(0.1e6), taken}, whole(2000)), "0:2000");
    EXPECT_EQ(finish({taken, path(1e6, 16'000)}, whole(20'000)), "wait");
    /* Unless there is no other. */
    EXPECT_EQ(finish({taken}, whole(2000)), "0:2000");
}

TEST(Finish, LooksAtNoMoreThanMaxPaths)
{
    std::vector<PathView> many(max_paths + 8, path(1e6));
    for (uint32_t i = 0; i < max_paths; ++i) {
        many[i].in_flight = Bytes(16'000);
    }
    EXPECT_EQ(finish(many, whole(1'000'000)), "wait");
}

} // namespace
} // namespace fuselink::sched::test
