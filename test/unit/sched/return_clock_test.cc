/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "sched/return_clock.h"

#include <gtest/gtest.h>

namespace fuselink::sched {
namespace {

constexpr Nanos ms(int64_t n)
{
    return Nanos::millis(n);
}

constexpr Nanos kStart = Nanos::seconds(100);

class ReturnClocks : public testing::Test {
protected:
    /* Looks until then, every few milliseconds, and hears nothing new. */
    bool silent_until(Nanos end, Nanos every = ms(5))
    {
        bool back = false;
        while (now_ + every <= end) {
            now_ += every;
            back  = clock_.look(waits_, heard_, now_) || back;
        }
        return back;
    }
    bool hears()
    {
        now_  += ms(2);
        heard_ = now_;
        return clock_.look(waits_, heard_, now_);
    }

    ReturnClock clock_;
    Nanos       now_ = kStart, heard_ = kStart;
    bool        waits_ = true;
};

TEST_F(ReturnClocks, IsBackAfterALongSilence)
{
    hears();
    EXPECT_FALSE(silent_until(kStart + ms(1600)));
    EXPECT_FALSE(clock_.is_recent(now_));
    EXPECT_TRUE(clock_.is_away());
    EXPECT_TRUE(hears());
    EXPECT_FALSE(clock_.is_away());
    EXPECT_TRUE(clock_.is_recent(now_));
    EXPECT_TRUE(clock_.is_of_before(now_ - ms(1)));
    EXPECT_FALSE(clock_.is_of_before(now_));
    EXPECT_FALSE(hears()); /* once */
    silent_until(now_ + ReturnClock::kGrace + ms(10));
    EXPECT_FALSE(clock_.is_recent(now_));
}

TEST_F(ReturnClocks, AShortSilenceIsForTheKernels)
{
    hears();
    for (int i = 0; i < 10; ++i) {
        silent_until(now_ + ms(1450));
        EXPECT_FALSE(hears());
    }
}

/* Who computes has acknowledged all, and is asked now and then. */
TEST_F(ReturnClocks, WhereNothingWaitsNothingIsSilent)
{
    hears();
    for (int i = 0; i < 5; ++i) {
        waits_ = false;
        silent_until(now_ + ms(4000));
        EXPECT_FALSE(clock_.is_away());
        waits_ = true;
        silent_until(now_ + ms(200));
        EXPECT_FALSE(hears());
    }
}

/* What nobody looked at may have been heard. */
TEST_F(ReturnClocks, APauseOfTheObserverIsNoSilence)
{
    hears();
    now_ += ms(5000);
    EXPECT_FALSE(hears());
    EXPECT_FALSE(silent_until(now_ + ms(1000)));
    now_ += ms(1200);
    EXPECT_FALSE(hears());
}

TEST_F(ReturnClocks, WhoLooksAFewTimesASecondSeesIt)
{
    hears();
    EXPECT_FALSE(silent_until(kStart + ms(3000), ms(250)));
    now_ += ms(240);
    EXPECT_TRUE(hears());
}

/* What a kernel says of one instant wavers by a tick. */
TEST_F(ReturnClocks, ATickIsNothingNew)
{
    hears();
    silent_until(kStart + ms(1700));
    EXPECT_FALSE(clock_.look(true, heard_ + ms(9), now_));
    EXPECT_TRUE(hears());
}

TEST_F(ReturnClocks, AnAnswerFromBeforeTheLastLookCounts)
{
    hears();
    silent_until(kStart + ms(1800));
    EXPECT_TRUE(clock_.look(true, kStart + ms(1700), now_ + ms(2)));
    EXPECT_FALSE(clock_.is_of_before(kStart + ms(1750)));
}

/* It has not tried since, or did before its own wire was back. */
TEST_F(ReturnClocks, WhatIsNotAcknowledgedSinceThenIsLeftBehind)
{
    EXPECT_FALSE(clock_.may_be_felt(now_));
    hears();
    silent_until(kStart + ms(3000));
    hears();
    const Nanos back = now_;
    EXPECT_TRUE(clock_.is_left_behind(back - ms(3000), back - ms(200), Nanos()));
    EXPECT_FALSE(clock_.is_left_behind(back - ms(3000), back + ms(100), back + ms(50)));
    EXPECT_TRUE(clock_.is_left_behind(back - ms(3000), back + ms(100), back + ms(150)));
    EXPECT_FALSE(clock_.is_left_behind(back + ms(1), back - ms(200), back + ms(150)));
    EXPECT_TRUE(clock_.may_be_felt(back + Nanos::seconds(100)));
    EXPECT_FALSE(clock_.may_be_felt(back + Nanos::seconds(130)));
}

TEST_F(ReturnClocks, AKernelThatTriesSoonIsWaitedFor)
{
    EXPECT_TRUE(ReturnClock::waits(3, kStart + ms(500), kStart));
    EXPECT_FALSE(ReturnClock::waits(2, kStart + ms(500), kStart));
    EXPECT_FALSE(ReturnClock::waits(5, kStart + ms(90), kStart));
    EXPECT_FALSE(ReturnClock::waits(5, kStart - ms(90), kStart));
}

} // namespace
} // namespace fuselink::sched
