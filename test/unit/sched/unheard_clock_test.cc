/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "sched/unheard_clock.h"

#include <gtest/gtest.h>

namespace fuselink::sched {
namespace {

using Change = UnheardClock::Change;

class UnheardClockTest : public testing::Test {
protected:
    /* Looks every 2 ms for so long, at most until something changes. */
    Change pass(int64_t ms, bool waits)
    {
        Change change = Change::None;
        for (const Nanos end = now_ + Nanos::millis(ms);
             now_ < end && change == Change::None;) {
            now_  = now_ + Nanos::millis(2);
            change = clock_.look(waits, heard_, now_);
        }
        return change;
    }
    void hear() { heard_ = now_; }

    UnheardClock clock_;
    Nanos        now_   = Nanos::seconds(1000);
    Nanos        heard_ = Nanos::seconds(999);
};

TEST_F(UnheardClockTest, BeginsAfterFiveSecondsAndEndsWhenHeard)
{
    EXPECT_EQ(pass(4990, true), Change::None);
    EXPECT_EQ(pass(20, true), Change::Begins);
    EXPECT_TRUE(clock_.is_out());
    EXPECT_GE((now_ - clock_.since()).count(), UnheardClock::kPatience.count());
    EXPECT_EQ(pass(60'000, true), Change::None);
    hear();
    EXPECT_EQ(pass(10, true), Change::Heard);
    EXPECT_FALSE(clock_.is_out());
    EXPECT_EQ(pass(4990, true), Change::None);
    EXPECT_EQ(pass(20, true), Change::Begins);
}

TEST_F(UnheardClockTest, WhoIsHeardNowAndThenIsThere)
{
    for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(pass(4900, true), Change::None);
        hear();
    }
}

/* The kernel's clock has ticks. */
TEST_F(UnheardClockTest, TheSameInstantSaidLaterIsNoSign)
{
    EXPECT_EQ(pass(1000, true), Change::None);
    heard_ = heard_ + Nanos::millis(9);
    EXPECT_EQ(pass(4010, true), Change::Begins);
    heard_ = clock_.since();
    EXPECT_EQ(pass(1000, true), Change::None) << "that was before";
}

/* A program that says nothing for longer, and then waits a moment. */
TEST_F(UnheardClockTest, PausesDoNotCount)
{
    for (int i = 0; i < 100; ++i) {
        now_ = now_ + Nanos::seconds(60); /* nobody looks */
        EXPECT_EQ(pass(40, true), Change::None);
        hear();
        EXPECT_EQ(pass(4, i % 2 == 0), Change::None);
    }
    EXPECT_EQ(pass(10'000, false), Change::None);
    EXPECT_EQ(pass(4990, true), Change::None);
}

/* Nobody looks while nothing waits, and some of the last time may be left. */
TEST_F(UnheardClockTest, WhatIsSaidIsSinceWhenItWaits)
{
    EXPECT_EQ(pass(4000, true), Change::None);
    now_ = now_ + Nanos::seconds(3600);
    EXPECT_EQ(pass(4990, true), Change::None);
    EXPECT_EQ(pass(20, true), Change::Begins);
    EXPECT_LT((now_ - clock_.since()).count(), Nanos::millis(5100).count());
}

TEST_F(UnheardClockTest, WhoLooksSeldomCountsLittle)
{
    for (int i = 0; i < 20; ++i) {
        now_ = now_ + Nanos::seconds(1);
        EXPECT_EQ(clock_.look(true, heard_, now_), Change::None);
    }
    now_ = now_ + Nanos::seconds(1);
    EXPECT_EQ(clock_.look(true, heard_, now_), Change::Begins);
}

/* Beside other programs on the same processors. */
TEST_F(UnheardClockTest, WhoLooksAFewTimesASecondIsAsSoon)
{
    for (int i = 0; i < 25; ++i) {
        now_ = now_ + Nanos::millis(200);
        EXPECT_EQ(clock_.look(true, heard_, now_), Change::None);
    }
    now_ = now_ + Nanos::millis(200);
    EXPECT_EQ(clock_.look(true, heard_, now_), Change::Begins);
}

TEST_F(UnheardClockTest, IsOverWhenNothingWaitsAnyMore)
{
    EXPECT_EQ(pass(6000, true), Change::Begins);
    EXPECT_EQ(pass(900, false), Change::None) << "it may be sent anew";
    EXPECT_EQ(pass(2, true), Change::None);
    EXPECT_EQ(pass(990, false), Change::None);
    EXPECT_EQ(pass(20, false), Change::Over);
    EXPECT_FALSE(clock_.is_out());
}

} // namespace
} // namespace fuselink::sched
