/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "wire/messages.h"

#include <gtest/gtest.h>

namespace fuselink::wire {
namespace {

TEST(ChunkNumber, WrapsAround)
{
    EXPECT_TRUE(chunk_before(0, 1));
    EXPECT_FALSE(chunk_before(1, 1));
    EXPECT_FALSE(chunk_before(2, 1));
    EXPECT_TRUE(chunk_before(UINT32_MAX, 0));
    EXPECT_FALSE(chunk_before(0, UINT32_MAX));
}

TEST(ChunkNumber, AMarkStaysWhileItIsNear)
{
    EXPECT_EQ(chunk_mark(5, 5), 5u);
    EXPECT_EQ(chunk_mark(5, 1000000), 5u);
    EXPECT_EQ(chunk_mark(UINT32_MAX, 7), UINT32_MAX);
}

/* A path that never broke has the mark 0. */
TEST(ChunkNumber, NoChunkOfALongJobIsBeforeTheMark)
{
    uint32_t mark = 0;
    for (uint64_t number = 0; number < uint64_t{5} << 32; number += 1u << 28) {
        const auto now = static_cast<uint32_t>(number);
        ASSERT_FALSE(chunk_before(now, mark)) << number;
        mark = chunk_mark(mark, now);
        ASSERT_FALSE(chunk_before(now, mark)) << number;
    }
}

} // namespace
} // namespace fuselink::wire
