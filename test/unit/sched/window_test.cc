/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "uct/fuselink/sched/window.h"

#include <gtest/gtest.h>

namespace fuselink::sched {
namespace {

constexpr Limits limits{};

TEST(Window, QuantumKeepsThePathBusyForChunkTime)
{
    EXPECT_EQ(quantum_for(Rate::mbit(200), limits), Bytes(100'000));
    EXPECT_EQ(quantum_for(Rate::mbit(400), limits), Bytes(200'000));
}

TEST(Window, QuantumStaysWithinTheLimits)
{
    EXPECT_EQ(quantum_for(Rate::mbit(1), limits), limits.min_chunk);
    EXPECT_EQ(quantum_for(Rate::mbit(400'000), limits), limits.max_chunk);
    EXPECT_EQ(quantum_for(Rate(), limits), limits.min_chunk);
}

TEST(Window, ContradictoryLimitsGiveTheSmallestChunk)
{
    const Limits odd{.min_chunk = Bytes(100), .max_chunk = Bytes(10)};
    EXPECT_EQ(quantum_for(Rate::mbit(200), odd), Bytes(100));
}

TEST(Window, HoldsFourQuanta)
{
    EXPECT_EQ(window_for(Rate::mbit(200), limits), Bytes(400'000));
}

TEST(Window, CoversTheLatencyOnTop)
{
    EXPECT_EQ(window_for(Rate::mbit(200), limits, Nanos::millis(20)),
              Bytes(400'000 + 500'000));
}

TEST(Window, HasAFloorAndACap)
{
    EXPECT_EQ(window_for(Rate::mbit(1), limits), Bytes::kib(64));
    EXPECT_EQ(window_for(Rate::mbit(400'000), limits), Bytes::mib(16));
    EXPECT_EQ(window_for(Rate::mbit(400'000), limits, Nanos::millis(100)),
              Bytes::mib(64));
}

TEST(Window, IsSmallWhileTheRateIsAGuess)
{
    RateMeter meter(Rate::mbit(100'000));
    EXPECT_EQ(window_for(meter, Nanos(), limits), Bytes::kib(128));

    meter.on_post(Nanos(), Bytes(250'000));
    meter.on_complete(Nanos::millis(10), Bytes(250'000));
    EXPECT_EQ(window_for(meter, Nanos::millis(10), limits), Bytes(400'000));
}

TEST(Window, ViewShowsWhatTheMeterKnows)
{
    RateMeter meter(Rate::mbit(1000), Nanos::micros(100));
    PathView view = view_of(meter, Nanos(), limits, false);
    EXPECT_EQ(view.rate, Rate::mbit(1000));
    EXPECT_EQ(view.overhead, Nanos::micros(100));
    EXPECT_FALSE(view.open);
    EXPECT_TRUE(view.probe);
    EXPECT_EQ(view.in_flight, Bytes());

    meter.on_post(Nanos(), Bytes(100'000));
    meter.on_post(Nanos(), Bytes(100'000));
    meter.on_complete(Nanos::micros(4100), Bytes(100'000));
    const Nanos later = Nanos::micros(4100 + 1900);
    view = view_of(meter, later, limits);
    EXPECT_NEAR(view.rate.mbits_per_second(), 200, 0.1);
    EXPECT_TRUE(view.open);
    EXPECT_FALSE(view.probe);
    EXPECT_EQ(view.in_flight, Bytes(100'000));
    /* 1.9 ms since the acknowledgement, which was 0.1 ms on its way. */
    EXPECT_NEAR(static_cast<double>(view.drained.count()), 50'000, 100);
    EXPECT_NEAR(static_cast<double>(view.window.count()), 402'500, 100);
}

} // namespace
} // namespace fuselink::sched
