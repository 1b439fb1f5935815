/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "uct/fuselink/load/inflow_sums.h"

#include <gtest/gtest.h>
#include <memory>
#include <random>
#include <vector>

namespace fuselink {
namespace {

using sched::Bytes;
using sched::Nanos;

InflowSums::Loads loads_of(uint64_t rail0, uint64_t rail3 = 0)
{
    InflowSums::Loads loads{};
    loads[0] = Bytes(rail0);
    loads[3] = Bytes(rail3);
    return loads;
}

TEST(InflowSums, OfAllAndOfAllButOne)
{
    InflowSums        sums;
    InflowSums::Share one, other, silent;
    sums.set(one, loads_of(5), Nanos(10));
    sums.set(other, loads_of(7, 1), Nanos(11));
    EXPECT_EQ(sums.senders(), 2u);
    EXPECT_EQ(sums.all(0), Bytes(12));
    EXPECT_EQ(sums.others(0, one), Bytes(7));
    EXPECT_EQ(sums.others(3, other), Bytes());
    EXPECT_EQ(sums.others(0, silent), Bytes(12));
    sums.set(one, loads_of(1), Nanos(12)); /* in place of what it has said */
    EXPECT_EQ(sums.all(0), Bytes(8));
    sums.set(one, loads_of(0), Nanos(12)); /* a farewell */
    EXPECT_EQ(sums.senders(), 1u);
    EXPECT_EQ(sums.all(0), Bytes(7));
}

TEST(InflowSums, WhatHeldForItsTimeCountsNoMore)
{
    InflowSums        sums;
    InflowSums::Share one, other;
    sums.set(one, loads_of(5), Nanos(10));
    sums.set(other, loads_of(7), Nanos(20));
    sums.forget(Nanos(9));
    EXPECT_EQ(sums.senders(), 2u);
    sums.forget(Nanos(10));
    EXPECT_EQ(sums.senders(), 1u);
    EXPECT_EQ(sums.all(0), Bytes(7));
    EXPECT_EQ(sums.others(0, one), Bytes(7));
    sums.set(one, loads_of(5), Nanos(30)); /* and is back, behind the other */
    sums.forget(Nanos(20));
    EXPECT_EQ(sums.all(0), Bytes(5));
}

/* Whatever peers say, come and go, it is the sum that one gets by asking each. */
TEST(InflowSums, AreWhatAddingUpGives)
{
    struct Peer {
        InflowSums::Share share;
        InflowSums::Loads loads{};
        Nanos             until;
    };
    std::mt19937_64 random(5);
    InflowSums      sums;
    std::vector<std::unique_ptr<Peer>> peers(12);
    Nanos now;
    for (int step = 0; step < 20000; ++step) {
        now += Nanos(static_cast<int64_t>(random() % 3));
        auto &peer = peers[random() % peers.size()];
        if (random() % 16 == 0) {
            peer.reset();
        } else {
            peer = peer ? std::move(peer) : std::make_unique<Peer>();
            for (Bytes &load : peer->loads) {
                load = random() % 3 != 0 ? Bytes() : Bytes::kib(UINT32_MAX - random() % 9);
            }
            peer->until = now + Nanos(20);
            sums.set(peer->share, peer->loads, peer->until);
        }
        sums.forget(now);
        uint32_t          senders = 0;
        InflowSums::Loads all{};
        for (const auto &each : peers) {
            if (each && each->until > now) {
                senders += each->loads != InflowSums::Loads{};
                for (size_t i = 0; i < all.size(); ++i) {
                    all[i] += each->loads[i];
                }
            }
        }
        ASSERT_EQ(sums.senders(), senders);
        for (size_t i = 0; i < all.size(); ++i) {
            ASSERT_EQ(sums.all(i), all[i]);
        }
    }
}

} // namespace
} // namespace fuselink
