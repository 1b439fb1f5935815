/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "ucs_ext/board_wires.h"

#include <gtest/gtest.h>

namespace fuselink {
namespace {

const std::vector<uint8_t> kThere{10, 0, 0, 2};
constexpr int64_t          kNow = 1'000'000'000'000;

TEST(BoardWires, WhatOneKnowsAllKnow)
{
    auto       board = Board::make_private();
    BoardWires one(board, 7), other(board, 7);
    const auto place = one.place("nic0", kThere);
    EXPECT_EQ(place, other.place("nic0", kThere));
    EXPECT_EQ(other.heard_at(place, kNow), 0);
    EXPECT_EQ(other.silent_at(place, kNow), 0);
    one.heard(place, kNow - 5, kNow);
    one.proved_silent(place, kNow - 2);
    EXPECT_EQ(other.heard_at(place, kNow), kNow - 5);
    EXPECT_EQ(other.silent_at(place, kNow), kNow - 2);
}

TEST(BoardWires, WiresAreToldApart)
{
    auto       board = Board::make_private();
    BoardWires one(board, 7), elsewhere(board, 8);
    const auto place = one.place("nic0", kThere);
    EXPECT_NE(place, one.place("nic1", kThere));
    EXPECT_NE(place, one.place("nic0", {10, 0, 0, 3}));
    EXPECT_NE(place, elsewhere.place("nic0", kThere));
}

/* Of several processes one may have heard nothing for long. */
TEST(BoardWires, WhatWasHeardLastStays)
{
    auto       board = Board::make_private();
    BoardWires one(board, 7), other(board, 7);
    const auto place = one.place("nic0", kThere);
    one.heard(place, kNow - 5, kNow);
    other.heard(place, kNow - 9, kNow);
    EXPECT_EQ(one.heard_at(place, kNow), kNow - 5);
    other.heard(place, kNow + 7, kNow + 7); /* one that was stopped since it read the clock */
    one.heard(place, kNow - 3, kNow);
    EXPECT_EQ(one.heard_at(place, kNow + 8), kNow + 7);
    other.heard(place, INT64_MAX - 1, kNow); /* one that lies */
    one.heard(place, kNow - 2, kNow);
    EXPECT_EQ(other.heard_at(place, kNow), kNow - 2);
}

/* Whoever can write there may write anything. */
TEST(BoardWires, AnInstantOfTheFutureIsNone)
{
    auto       board = Board::make_private();
    BoardWires one(board, 7);
    const auto place = one.place("nic0", kThere);
    for (const int64_t wrong : {kNow + 1, INT64_MAX, int64_t{-1}, INT64_MIN}) {
        one.heard(place, wrong, kNow);
        one.proved_silent(place, wrong);
        one.drops(place, wrong);
        EXPECT_EQ(one.heard_at(place, kNow), 0);
        EXPECT_EQ(one.silent_at(place, kNow), 0);
        EXPECT_EQ(one.dropped_at(place, kNow), 0);
    }
}

} // namespace
} // namespace fuselink
