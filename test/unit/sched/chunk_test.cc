/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "uct/fuselink/sched/chunk.h"

#include <gtest/gtest.h>

namespace fuselink::sched {
namespace {

constexpr Limits limits{.min_chunk = Bytes(1024), .max_chunk = Bytes(8192)};

uint64_t length(uint64_t want, uint64_t remaining)
{
    return chunk_length(Bytes(want), Bytes(remaining), limits).count();
}

TEST(Chunk, IsWhatIsWantedWithinBounds)
{
    EXPECT_EQ(length(4096, 100'000), 4096u);
    EXPECT_EQ(length(10, 100'000), 1024u);
    EXPECT_EQ(length(50'000, 100'000), 8192u);
    EXPECT_EQ(length(4096, 500), 500u);
}

TEST(Chunk, IsAligned)
{
    EXPECT_EQ(length(5000, 100'000), 4864u);
    EXPECT_EQ(length(1100, 100'000), 1024u);
}

TEST(Chunk, TheLastIsWhateverIsLeft)
{
    EXPECT_EQ(length(5000, 5000), 5000u);
}

TEST(Chunk, TakesACrumbAlong)
{
    EXPECT_EQ(length(4096, 4096 + 1023), 5119u);
    EXPECT_EQ(length(4096, 4096 + 1024), 4096u);
}

TEST(Chunk, LeavesADecentChunkWhereACrumbWouldBeTooMuch)
{
    /* 8192 would leave 500, and 8692 is not allowed. */
    EXPECT_EQ(length(8192, 8692), 7424u);
}

TEST(Chunk, NeverEmptyNorAboveTheLimitWhateverTheLimits)
{
    for (uint64_t min : {0, 1, 100, 1024, 9000}) {
        for (uint64_t max : {0, 1, 100, 1500, 8192}) {
            const Limits odd{.min_chunk = Bytes(min), .max_chunk = Bytes(max)};
            for (uint64_t remaining = 1; remaining < 20'000; remaining += 7) {
                for (uint64_t want : {0, 1, 300, 5000, 100'000}) {
                    const Bytes n =
                            chunk_length(Bytes(want), Bytes(remaining), odd);
                    ASSERT_GE(n, Bytes(1));
                    ASSERT_LE(n, Bytes(remaining));
                    ASSERT_LE(n, Bytes(std::max<uint64_t>(max, 1)));
                    if (odd.valid() && n < odd.min_chunk) {
                        ASSERT_EQ(n, Bytes(remaining));
                    }
                }
            }
        }
    }
}

TEST(Chunk, RoomIsAnOpenPathBelowItsWindowOrIdle)
{
    PathView path{.rate = Rate(1),
                  .overhead = Nanos(),
                  .in_flight = Bytes(5),
                  .window = Bytes(6)};
    EXPECT_TRUE(has_room(path));
    path.in_flight = Bytes(6);
    EXPECT_FALSE(has_room(path));
    path.window = Bytes(0);
    EXPECT_FALSE(has_room(path));
    path.in_flight = Bytes(0);
    EXPECT_TRUE(has_room(path));
    path.open = false;
    EXPECT_FALSE(has_room(path));
}

TEST(Chunk, FourFitIntoAWindow)
{
    PathView path{.rate = Rate(1),
                  .overhead = Nanos(),
                  .in_flight = Bytes(),
                  .window = Bytes(8000)};
    EXPECT_EQ(largest_chunk(path, limits), Bytes(2000));
    path.window = Bytes(100);
    EXPECT_EQ(largest_chunk(path, limits), Bytes(1024));
    path.window = Bytes(100'000);
    EXPECT_EQ(largest_chunk(path, limits), Bytes(8192));
}

} // namespace
} // namespace fuselink::sched
