/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "uct/fuselink/sched/shared_nic.h"

#include "uct/fuselink/sched/window.h"

#include <gtest/gtest.h>

namespace fuselink::sched {
namespace {

const Limits limits{Bytes::kib(16), Bytes::mib(4), Nanos::millis(2)};
const Nanos  start = Nanos::millis(10);

/* Has met `rate`, and has `flying` in flight since. */
RateMeter meter_of(Rate rate, Bytes flying = Bytes())
{
    RateMeter meter(Rate::mbit(10'000));
    meter.on_post(Nanos(), rate * start);
    meter.on_complete(start, rate * start);
    if (!flying.is_zero()) {
        meter.on_post(start, flying);
    }
    return meter;
}

SharedNic nic_of(const RateMeter &own, const RateMeter &total, Bytes ahead,
                 uint32_t processes)
{
    return SharedNic::of(own, total, start, limits, ahead, processes);
}

const RateMeter unknown{Rate()};

TEST(SharedNic, AsManyAsThereAreTheyFillItOnce)
{
    for (double mbit : {50.0, 1000.0, 200'000.0}) {
        const RateMeter total = meter_of(Rate::mbit(mbit));
        const Bytes once = window_for(total, start, limits);
        for (uint32_t processes : {1u, 2u, 8u, 64u}) {
            const RateMeter own = meter_of(Rate::mbit(mbit / processes));
            const SharedNic nic = nic_of(own, total, Bytes(), processes);
            for (uint32_t paths : {1u, 3u, 16u, 4096u}) {
                PathView view = view_of(own, start, limits);
                nic.show(own, paths, view);
                EXPECT_LE(view.window * processes * paths, once);
                if (processes * paths <= 4) {
                    EXPECT_GE(view.window * (processes * paths + 1), once);
                }
            }
        }
    }
}

TEST(SharedNic, ItsRateIsThatOfAllTogether)
{
    const RateMeter own = meter_of(Rate::mbit(25));
    EXPECT_NEAR(nic_of(own, unknown, Bytes(), 4).rate.mbits_per_second(), 100,
                0.1);
    EXPECT_NEAR(nic_of(own, meter_of(Rate::mbit(200)), Bytes(), 4)
                        .rate.mbits_per_second(),
                200, 0.1);
    /* Of what others had when there were others, no more. */
    EXPECT_NEAR(nic_of(own, meter_of(Rate::mbit(200)), Bytes(), 1)
                        .rate.mbits_per_second(),
                25, 0.1);
}

TEST(SharedNic, WhatIsKnownBoundsTheWindowOfWhoIsNew)
{
    EXPECT_EQ(nic_of(unknown, unknown, Bytes(), 4).window, Bytes::kib(128));
    EXPECT_EQ(nic_of(unknown, meter_of(Rate::mbit(1000)), Bytes(), 4).window,
              Bytes(1'000'000));
}

/* A path that gets its part of the NIC is as fast as the NIC, since the bytes
 * of others are counted; one that gets less is not. */
TEST(SharedNic, APathIsAsFastAsTheNicUnlessItIsSlowerItself)
{
    const RateMeter own = meter_of(Rate::mbit(50), Bytes(300'000));
    const SharedNic nic =
            nic_of(own, meter_of(Rate::mbit(100)), Bytes(70'000), 2);
    auto shown = [&](const RateMeter &path) {
        PathView view = view_of(path, start, limits);
        nic.show(path, 2, view);
        return view;
    };
    EXPECT_NEAR(shown(meter_of(Rate::mbit(25))).rate.mbits_per_second(), 100,
                0.1);
    EXPECT_NEAR(shown(meter_of(Rate::mbit(40))).rate.mbits_per_second(), 100,
                0.1);
    EXPECT_NEAR(shown(meter_of(Rate::mbit(5))).rate.mbits_per_second(), 20,
                0.1);
    for (double guess : {50.0, 10'000.0}) {
        const PathView view = shown(RateMeter(Rate::mbit(guess)));
        EXPECT_NEAR(view.rate.mbits_per_second(), 100, 0.1);
    }
    /* Measured alone, and not wrong for that. */
    EXPECT_NEAR(shown(meter_of(Rate::mbit(120))).rate.mbits_per_second(), 120,
                0.1);
    EXPECT_EQ(shown(meter_of(Rate::mbit(25), Bytes(100'000))).ahead,
              Bytes(270'000));
}

TEST(SharedNic, IsFullByTheSumWherePartsAreTooSmall)
{
    const RateMeter total = meter_of(Rate::mbit(100));
    const Bytes     once  = window_for(total, start, limits);
    auto full = [&](Bytes flying, Bytes ahead, uint32_t processes,
                    uint32_t paths) {
        const RateMeter own =
                meter_of(Rate::mbit(100.0 / processes), flying);
        return nic_of(own, total, ahead, processes).full(paths, 32, limits);
    };
    const Bytes half = once / 2, rest = once - half;
    EXPECT_TRUE(full(half, rest, 32, 1));
    EXPECT_FALSE(full(half - Bytes(1), rest, 32, 1));
    EXPECT_TRUE(full(once, Bytes(), 1, 32));
    EXPECT_TRUE(full(Bytes(), once, 2, 16));
    /* Two of them are held by their parts. */
    EXPECT_FALSE(full(once, once, 2, 1));
}

TEST(SharedNic, EverybodysTurnComes)
{
    const SharedNic nic = nic_of(meter_of(Rate::mbit(50)),
                                 meter_of(Rate::mbit(400)), Bytes(), 8);
    EXPECT_NEAR(nic.turn(limits).as_seconds(), 8 * 16384 / 50e6, 1e-6);
    EXPECT_GT(nic_of(unknown, unknown, Bytes(), 8).turn(limits), Nanos());
}

} // namespace
} // namespace fuselink::sched
