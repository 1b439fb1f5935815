/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "wireup/candidate_order.h"

#include <gtest/gtest.h>
#include <random>
#include <tuple>
#include <vector>

namespace {

using fuselink::CandidateOrder;

TEST(CandidateOrder, HasNoneWhenItIsEmpty)
{
    CandidateOrder order;
    order.prefer(0, 0);
    EXPECT_EQ(order.next(), order.size());
    EXPECT_FALSE(order.next_is_preferred());
}

TEST(CandidateOrder, EqualsComeAsTheyWereAdded)
{
    CandidateOrder order;
    for (uint8_t i = 0; i < 4; ++i) {
        EXPECT_TRUE(order.add({.own = i, .remote = 0}));
    }
    for (size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(order.next(), i);
        order.note_tried(i);
    }
    EXPECT_EQ(order.next(), order.size());
}

TEST(CandidateOrder, APairIsThereOnce)
{
    CandidateOrder order;
    EXPECT_TRUE(order.add({.own = 1, .remote = 2}));
    EXPECT_TRUE(order.add({.own = 2, .remote = 1}));
    EXPECT_FALSE(order.add({.own = 1, .remote = 2, .standby = true}));
    EXPECT_EQ(order.size(), 2u);
}

TEST(CandidateOrder, RdmaBeforeIpBeforeStandby)
{
    CandidateOrder order;
    order.add({.own = 0, .remote = 0, .standby = true});
    order.add({.own = 1, .remote = 0, .routed_by_ip = true});
    order.add({.own = 2, .remote = 0, .far = true});
    order.add({.own = 3, .remote = 0});
    order.add({.own = 4, .remote = 0, .routed_by_ip = true, .far = true});
    for (size_t expected : {3, 2, 1, 4, 0}) {
        EXPECT_EQ(order.next(), expected);
        order.note_tried(order.next());
    }
}

TEST(CandidateOrder, WhereThePeersHelloCameIsNext)
{
    CandidateOrder order;
    order.add({.own = 0, .remote = 0});
    order.add({.own = 1, .remote = 0, .routed_by_ip = true});
    order.prefer(1, 0);
    EXPECT_EQ(order.next(), 0u); /* at first any is as good */
    order.note_tried(0);
    EXPECT_EQ(order.next(), 1u);
    EXPECT_TRUE(order.next_is_preferred());
}

TEST(CandidateOrder, AtOnceWhereTheRailConnectsEndpoints)
{
    CandidateOrder order;
    order.add({.own = 0, .remote = 0, .by_ep = true});
    order.add({.own = 1, .remote = 0, .far = true, .by_ep = true});
    order.prefer(1, 0);
    EXPECT_EQ(order.next(), 1u);
    order.note_tried(1);
    EXPECT_EQ(order.next(), 0u);
    EXPECT_FALSE(order.next_is_preferred());
}

TEST(CandidateOrder, AStandbyIsNeverPreferred)
{
    CandidateOrder order;
    order.add({.own = 0, .remote = 0, .standby = true, .by_ep = true});
    order.add({.own = 1, .remote = 0, .routed_by_ip = true});
    order.prefer(0, 0);
    EXPECT_EQ(order.next(), 1u);
    EXPECT_FALSE(order.next_is_preferred());
}

/* The peer's numbers may be wrong. */
TEST(CandidateOrder, PrefersNothingThatThereIsNot)
{
    CandidateOrder order;
    order.add({.own = 0, .remote = 0});
    order.prefer(200, 17);
    EXPECT_EQ(order.next(), 0u);
    order.note_tried(0);
    EXPECT_EQ(order.next(), order.size());
    EXPECT_FALSE(order.next_is_preferred());
}

/* Each is tried once, and none before a better one, but for the preferred. */
TEST(CandidateOrder, TriesAllByRank)
{
    std::mt19937 random(3);
    for (int round = 0; round < 500; ++round) {
        CandidateOrder order;
        std::vector<std::tuple<bool, bool, bool>> ranks;
        const size_t count = 1 + random() % 12;
        for (size_t i = 0; i < count; ++i) {
            CandidateOrder::Candidate candidate{
                .own          = static_cast<uint8_t>(i),
                .remote       = static_cast<uint8_t>(random() % 3),
                .standby      = random() % 4 == 0,
                .routed_by_ip = random() % 2 == 0,
                .far          = random() % 2 == 0,
                .by_ep        = random() % 2 == 0};
            ranks.emplace_back(candidate.standby, candidate.routed_by_ip,
                               candidate.far);
            ASSERT_TRUE(order.add(candidate));
        }
        std::vector<bool> tried(count);
        for (size_t i = 0; i < count; ++i) {
            const size_t next = order.next();
            ASSERT_LT(next, count);
            ASSERT_FALSE(tried[next]);
            if (!order.next_is_preferred()) {
                for (size_t k = 0; k < count; ++k) {
                    ASSERT_TRUE(tried[k] || ranks[next] <= ranks[k]);
                }
            }
            tried[next] = true;
            order.note_tried(next);
            order.prefer(static_cast<uint8_t>(random() % count),
                         static_cast<uint8_t>(random() % 3));
        }
        ASSERT_EQ(order.next(), count);
    }
}

TEST(CandidateOrder, SilentWiresComeLast)
{
    CandidateOrder order;
    order.add({.own = 0, .remote = 0});
    order.add({.own = 1, .remote = 1, .standby = true, .routed_by_ip = true});
    order.set_silent(0, true);
    EXPECT_EQ(order.next(), 1u);
    order.note_tried(1);
    EXPECT_EQ(order.next(), 0u); /* but they are tried */
    order.set_silent(0, false);
    order.restart(1);
    EXPECT_EQ(order.next(), 0u);
}

TEST(CandidateOrder, TheOneThatBrokeComesBeforeSilentOnes)
{
    CandidateOrder order;
    order.add({.own = 0, .remote = 0});
    order.add({.own = 1, .remote = 1});
    order.restart(0);
    order.set_silent(1, true);
    EXPECT_EQ(order.next(), 0u);
}

/* Three of which two have failed so: the third is tried, although it is for emergencies,
 * and none of the two a second time. */
TEST(CandidateOrder, WhereAPairMovesNoDataIsTriedAfterAllOthers)
{
    CandidateOrder order;
    order.add({.own = 0, .remote = 0, .by_ep = true});
    order.add({.own = 1, .remote = 1, .by_ep = true});
    order.add({.own = 2, .remote = 2, .standby = true, .routed_by_ip = true});
    for (size_t expected : {0, 1, 2}) {
        EXPECT_EQ(order.next(), expected);
        EXPECT_FALSE(order.moves_no_data(expected));
        order.note_tried(expected);
        order.note_no_data(expected);
        order.restart(expected);
    }
    order.note_tried(2);
    EXPECT_LT(order.next(), 2u);
}

} // namespace
