/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "transfer/chunk_length.h"

#include <cstdint>
#include <gtest/gtest.h>
#include <random>

namespace {

using fuselink::without_remainder;

constexpr size_t kLeast = 16 << 10;

TEST(ChunkLength, IsWhatThePolicyWants)
{
    EXPECT_EQ(without_remainder(64 << 10, 256 << 10, kLeast, SIZE_MAX),
              size_t{64 << 10});
}

TEST(ChunkLength, IsNoMoreThanThereIs)
{
    EXPECT_EQ(without_remainder(64 << 10, 1, kLeast, SIZE_MAX), 1u);
    EXPECT_EQ(without_remainder(SIZE_MAX, 5, kLeast, 4), 5u);
}

TEST(ChunkLength, LeavesNoRemainderBelowTheLeast)
{
    const size_t wanted = 64 << 10;
    EXPECT_EQ(without_remainder(wanted, wanted + kLeast - 1, kLeast, SIZE_MAX),
              wanted + kLeast - 1);
    EXPECT_EQ(without_remainder(wanted, wanted + kLeast, kLeast, SIZE_MAX),
              wanted);
}

/* A slot, or what a NIC takes at once, is no longer for that. */
TEST(ChunkLength, RoundsUpOnlyToTheMost)
{
    const size_t wanted = 64 << 10;
    EXPECT_EQ(without_remainder(wanted, wanted + 1, kLeast, wanted + 1),
              wanted + 1);
    EXPECT_EQ(without_remainder(wanted, wanted + 1, kLeast, wanted), wanted);
}

/* Whatever is wanted: all bytes go, once, in chunks that are worth it and that the
 * method takes. */
TEST(ChunkLength, CutsAllInChunksThatAreWorthIt)
{
    std::mt19937_64 random(1);
    for (int round = 0; round < 20000; ++round) {
        const size_t least = 1 + random() % kLeast;
        const size_t most  = least + random() % (1 << 20);
        const size_t all   = 1 + random() % (1 << 22);
        const bool   whole = random() % 2 == 0; /* nothing bounds it */
        size_t       left  = all;
        while (left != 0) {
            const size_t wanted = std::min(least + random() % (most - least + 1),
                                           left);
            const size_t length = without_remainder(wanted, left, least,
                                                    whole ? SIZE_MAX : most);
            ASSERT_GE(length, wanted);
            ASSERT_LE(length, left);
            if (!whole) {
                ASSERT_LE(length, most);
            } else if (length != all) {
                ASSERT_GE(length, least);
                ASSERT_TRUE(left - length == 0 || left - length >= least);
            }
            ASSERT_LT(length - wanted, least);
            left -= length;
        }
    }
}

} // namespace
