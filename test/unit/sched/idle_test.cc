/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "node_model.h"
#include "schedule.h"

#include <gtest/gtest.h>

/* Paths of 1 MB/s: a batch is 4000 bytes, 3840 when it is not the last. */
namespace fuselink::sched::test {
namespace {

using Standing = PathView::Standing;

PathView path(Standing standing, uint64_t in_flight = 0, uint64_t ahead = 0)
{
    return PathView{.rate = Rate(1e6),
                    .overhead = Nanos(),
                    .in_flight = Bytes(in_flight),
                    .window = Bytes(16'000),
                    .ahead = Bytes(ahead),
                    .standing = standing};
}

std::string idle(std::vector<PathView> paths, uint64_t bytes = 3000,
                 uint32_t home = 0)
{
    Demand demand = whole(bytes);
    demand.home = home;
    return schedule("idle", std::move(paths), demand, small_limits());
}

TEST(Idle, TheOwnNicIfIdle)
{
    EXPECT_EQ(idle({path(Standing::Free), path(Standing::Own)}), "1:3000");
    EXPECT_EQ(idle({path(Standing::Lent), path(Standing::Own)}), "1:3000");
}

TEST(Idle, ElseAnIdleOneOfOthers)
{
    EXPECT_EQ(idle({path(Standing::Own, 100), path(Standing::Free)}), "1:3000");
    EXPECT_EQ(idle({path(Standing::Own, 0, 1), path(Standing::Free)}),
              "1:3000");
    EXPECT_EQ(idle({path(Standing::Own, 100), path(Standing::Free, 0, 1),
                    path(Standing::Lent)}),
              "2:3000");
}

TEST(Idle, ElseTheOwn)
{
    EXPECT_EQ(idle({path(Standing::Own, 100), path(Standing::Lent, 0, 1)}),
              "0:3000");
    EXPECT_EQ(idle({path(Standing::Own, 100), path(Standing::Taken)}),
              "0:3000");
    EXPECT_EQ(idle({path(Standing::Own, 16'000), path(Standing::Taken)}),
              "wait");
}

TEST(Idle, WhatIsNobodysIsSharedWithOthers)
{
    EXPECT_EQ(idle({path(Standing::Own, 100), path(Standing::Free, 0, 1)}),
              "1:3000");
    EXPECT_EQ(idle({path(Standing::Own, 100), path(Standing::Free, 0, 101)}),
              "0:3000");
    EXPECT_EQ(idle({path(Standing::Own, 16'000), path(Standing::Free, 0, 90'000)}),
              "1:3000");
}

TEST(Idle, LessThanABatchIsOnALentPath)
{
    EXPECT_EQ(idle({path(Standing::Own, 16'000), path(Standing::Lent)}, 9000),
              "1:1792 1:1792 wait");
    EXPECT_EQ(idle({path(Standing::Own, 16'000), path(Standing::Free)}, 90'000),
              "1:3840 1:3840 1:3840 1:3840 1:3840 wait");
}

TEST(Idle, WithoutOwnTheHomeIsDirect)
{
    EXPECT_EQ(idle({path(Standing::Free), path(Standing::Free)}, 3000, 1),
              "1:3000");
    EXPECT_EQ(idle({path(Standing::Free), path(Standing::Taken),
                    path(Standing::Free)},
                   3000, 1),
              "2:3000");
}

TEST(Idle, WhereNothingWouldWakeItAnyPathWillDo)
{
    PathView closed = path(Standing::Own);
    closed.open = false;
    EXPECT_EQ(idle({closed, path(Standing::Free, 0, 5000)}), "1:3000");
    EXPECT_EQ(idle({path(Standing::Taken), path(Standing::Taken, 0, 9)}),
              "0:3000");
}

TEST(Idle, AnOwnerThatReturnsWaitsForLessThanABatch)
{
    const std::vector<Rate> nics(4, Rate::mbit(200));
    const Limits limits{.chunk_time = Nanos::millis(2)};
    const Bytes batch = quantum_for(nics[0], limits);
    for (const int64_t when : {1, 7, 20, 33}) {
        NodeModel model(*find_policy("idle"), nics,
                        {{.size = Bytes(8'000'000), .own = 0},
                         {.size = Bytes(2'000'000),
                          .start = Nanos::millis(when),
                          .own = 1}});
        const std::vector<Nanos> done = model.run();
        ASSERT_EQ(done.size(), 2u);
        EXPECT_EQ(model.trespasses(), 0);
        EXPECT_GT(model.most_borrowed(), Bytes());
        EXPECT_LE(model.most_borrowed(), batch + limits.min_chunk);
        /* It has its own NIC and the two of nobody. */
        const double alone = 2e6 / nics[1].bytes_per_second();
        EXPECT_LT((done[1] - Nanos::millis(when)).as_seconds(),
                  alone + (batch / nics[1]).as_seconds() + 0.001);
    }
}

} // namespace
} // namespace fuselink::sched::test
