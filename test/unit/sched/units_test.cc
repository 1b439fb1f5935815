/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "uct/fuselink/sched/units.h"

#include <gtest/gtest.h>

#include <limits>

namespace fuselink::sched {
namespace {

TEST(Units, BytesSaturate)
{
    EXPECT_EQ(Bytes(3) - Bytes(5), Bytes(0));
    EXPECT_EQ(Bytes::max() + Bytes(1), Bytes::max());
    EXPECT_EQ(Bytes(1) + Bytes::max(), Bytes::max());
    EXPECT_EQ(Bytes::max() * 2, Bytes::max());
    EXPECT_EQ(Bytes(6) * 0, Bytes(0));
    EXPECT_EQ(Bytes(7) / 2, Bytes(3));
    EXPECT_EQ(Bytes(7) / 0, Bytes::max());
    EXPECT_EQ(Bytes::kib(2), Bytes(2048));
    EXPECT_EQ(Bytes::mib(2), Bytes::kib(2048));
}

TEST(Units, NanosSaturate)
{
    EXPECT_EQ(Nanos::max() + Nanos(1), Nanos::max());
    EXPECT_EQ(Nanos::min() - Nanos(1), Nanos::min());
    EXPECT_EQ(Nanos::min() + Nanos(-1), Nanos::min());
    EXPECT_EQ(Nanos::max() - Nanos(-1), Nanos::max());
    EXPECT_EQ(Nanos::max() * 2, Nanos::max());
    EXPECT_EQ(Nanos::max() * -2, Nanos::min());
    EXPECT_EQ(Nanos(7) / 2, Nanos(3));
    EXPECT_EQ(Nanos(7) / 0, Nanos::max());
    EXPECT_EQ(Nanos(-7) / 0, Nanos::min());
    EXPECT_EQ(Nanos::min() / -1, Nanos::max());
    EXPECT_EQ(Nanos::seconds(1e30), Nanos::max());
    EXPECT_EQ(Nanos::seconds(-1e30), Nanos::min());
    EXPECT_EQ(Nanos::seconds(std::numeric_limits<double>::quiet_NaN()),
              Nanos(0));
    EXPECT_EQ(Nanos::millis(3), Nanos::micros(3000));
}

TEST(Units, RateIsNeverNegativeNorInfinite)
{
    EXPECT_TRUE(Rate(-1).is_zero());
    EXPECT_TRUE(Rate(std::numeric_limits<double>::quiet_NaN()).is_zero());
    EXPECT_EQ(Rate(std::numeric_limits<double>::infinity()), Rate(1e15));
    EXPECT_EQ(Rate::mbit(8), Rate(1e6));
    EXPECT_DOUBLE_EQ(Rate::mbit(200).mbits_per_second(), 200);
}

TEST(Units, BytesRatesAndTimesConvert)
{
    EXPECT_EQ(Bytes(4'000'000) / Rate::mbit(800), Nanos::millis(40));
    EXPECT_EQ(Rate::mbit(200) * Nanos::millis(4), Bytes(100'000));
    EXPECT_EQ(Nanos::millis(4) * Rate::mbit(200), Bytes(100'000));
    EXPECT_EQ(Bytes(100'000) / Nanos::millis(4), Rate::mbit(200));
}

TEST(Units, ConversionsWithoutAnAnswerStayInRange)
{
    EXPECT_EQ(Bytes(1) / Rate(), Nanos::max());
    EXPECT_EQ(Bytes(0) / Rate(), Nanos(0));
    EXPECT_EQ(Bytes::max() / Rate(1), Nanos::max());
    EXPECT_EQ(Rate(1e12) * Nanos(-1), Bytes(0));
    EXPECT_EQ(Rate(1e15) * Nanos::max(), Bytes::max());
    EXPECT_TRUE((Bytes(1) / Nanos(0)).is_zero());
    EXPECT_TRUE((Bytes(1) / Nanos(-5)).is_zero());
}

} // namespace
} // namespace fuselink::sched
