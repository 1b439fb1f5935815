/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "engine/ended_connections.h"

#include <gtest/gtest.h>

namespace fuselink {
namespace {

wire::RailTable peer(uint64_t uuid)
{
    wire::RailTable table;
    table.uuid = uuid;
    return table;
}

TEST(EndedConnections, FindsWhatThePeerCallsSo)
{
    EndedConnections ended;
    ended.add(3, 7, peer(100));
    ended.add(4, 8, peer(200));
    ASSERT_NE(ended.find(100, 3), nullptr);
    EXPECT_EQ(ended.find(100, 3)->ours, 7u);
    EXPECT_EQ(ended.find(100, 3)->table.uuid, 100u);
    EXPECT_EQ(ended.find(100, 4), nullptr); /* another peer's */
    EXPECT_EQ(ended.find(200, 3), nullptr);
    EXPECT_EQ(ended.find(100, 7), nullptr); /* that is our number */
}

TEST(EndedConnections, ForgetsOneThatThePeerKnowsOf)
{
    EndedConnections ended;
    ended.add(3, 7, peer(100));
    ended.add(4, 8, peer(100));
    ended.forget(100, 3);
    EXPECT_EQ(ended.find(100, 3), nullptr);
    EXPECT_NE(ended.find(100, 4), nullptr);
    ended.forget(100, 3);
    EXPECT_EQ(ended.size(), 1u);
}

TEST(EndedConnections, ForgetsTheOldestOfTooMany)
{
    EndedConnections ended;
    for (uint32_t i = 1; i <= EndedConnections::kMax + 2; ++i) {
        ended.add(i, i, peer(100));
    }
    EXPECT_EQ(ended.size(), EndedConnections::kMax);
    EXPECT_EQ(ended.find(100, 2), nullptr);
    EXPECT_NE(ended.find(100, 3), nullptr);
    EXPECT_NE(ended.find(100, EndedConnections::kMax + 2), nullptr);
}

} // namespace
} // namespace fuselink
