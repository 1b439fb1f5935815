/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "sched/spread_trial.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <vector>

namespace {

using namespace fuselink::sched;

class SpreadTrialTest : public testing::Test {
protected:
    /* Looks each 2 ms for so long; `speed` of one or several in MB/s. Returns for how much
     * of the time several were used. */
    double run(Nanos time, const std::function<double(bool)> &speed,
               bool queues = true)
    {
        const Nanos end  = now + time;
        int         used = 0, looks = 0;
        while (now < end) {
            now += Nanos::millis(2);
            arrived += speed(several) * 2e3;
            /* What has come by now was sent `delay` ago. */
            sent.push_back(arrived);
            const double came = sent[sent.size() < delay + 1 ? 0 :
                                                               sent.size() - 1 - delay];
            several = trial.look(now, Bytes(static_cast<uint64_t>(arrived)),
                                 Bytes(static_cast<uint64_t>(came)), queues);
            used += several;
            ++looks;
        }
        return double(used) / looks;
    }
    static double doubles(bool several) { return several ? 50 : 25; }
    static double same(bool) { return 25; }
    static double worse(bool several) { return several ? 20 : 25; }

    SpreadTrial trial;
    Nanos       now     = Nanos::seconds(5);
    double      arrived = 0;
    bool        several = false;
    size_t      delay   = 0; /* looks */
    std::vector<double> sent;
};

TEST_F(SpreadTrialTest, NothingIsTriedWhereNothingWaits)
{
    EXPECT_EQ(run(Nanos::seconds(5), doubles, false), 0);
}

TEST_F(SpreadTrialTest, WhatBringsMoreIsUsed)
{
    run(Nanos::millis(90), doubles);
    EXPECT_TRUE(several);
    EXPECT_GT(run(Nanos::seconds(20), doubles), 0.98);
    EXPECT_GT(run(Nanos::seconds(20), doubles, false), 0.98); /* as several are used */
}

/* Long messages, many in flight: what is sent in a turn arrives behind the turns before. */
TEST_F(SpreadTrialTest, WhatWasSentBeforeDoesNotCount)
{
    delay = 20;
    run(Nanos::millis(100), doubles, false);
    run(Nanos::millis(900), doubles);
    EXPECT_TRUE(several);
}

TEST_F(SpreadTrialTest, WhatBringsNothingIsTriedEverLessOften)
{
    EXPECT_LT(run(Nanos::seconds(2), same), 0.06);
    run(Nanos::seconds(20), same);
    EXPECT_LT(run(Nanos::seconds(40), worse), 0.006);
    run(Nanos::seconds(9), doubles);
    EXPECT_TRUE(several);
}

TEST_F(SpreadTrialTest, AGainThatEndsIsFound)
{
    run(Nanos::millis(90), doubles);
    run(Nanos::millis(300), same);
    EXPECT_FALSE(several);
    run(Nanos::millis(600), doubles); /* and one that begins soon again */
    EXPECT_TRUE(several);
}

/* Programs send in bursts, for their own reasons. */
TEST_F(SpreadTrialTest, BurstsProveLittle)
{
    std::mt19937 random(3);
    int          left = 0;
    bool         on   = false;
    auto bursts = [&](bool) {
        if (--left <= 0) {
            on   = !on;
            left = 1 + static_cast<int>(random() % 20);
        }
        return on ? 25.0 : 0.0;
    };
    EXPECT_LT(run(Nanos::seconds(60), bursts), 0.4);
}

/* The process was not on a processor. */
TEST_F(SpreadTrialTest, ATurnThatWasNotWatchedProvesNothing)
{
    run(Nanos::millis(14), doubles);
    now += Nanos::millis(100);
    run(Nanos::millis(2), doubles);
    EXPECT_FALSE(several);
    run(Nanos::millis(96), doubles);
    EXPECT_FALSE(several);
    run(Nanos::millis(90), doubles);
    EXPECT_TRUE(several);
}

/* Short messages, of which the wire carries as many as come, and then long ones. */
TEST_F(SpreadTrialTest, OtherWorkIsTriedSoon)
{
    auto few = [](bool) { return 5.0; };
    run(Nanos::seconds(20), few);
    run(Nanos::millis(150), doubles);
    EXPECT_TRUE(several);
    run(Nanos::millis(200), few); /* and back */
    EXPECT_FALSE(several);
}

TEST_F(SpreadTrialTest, AClearGainIsFoundSooner)
{
    run(Nanos::millis(66), doubles);
    EXPECT_TRUE(several);
    EXPECT_FALSE(trial.tries());
}

TEST_F(SpreadTrialTest, AHugeGainIsFoundAfterATurnOfEach)
{
    run(Nanos::millis(34), doubles);
    EXPECT_TRUE(several);
    EXPECT_FALSE(trial.tries());
}

/* Two directions, or many peers: one burst is sent, then another one is waited for. */
TEST_F(SpreadTrialTest, ABurstIsNoOtherWork)
{
    delay      = 10; /* a megabyte */
    int  looks = 0;
    auto bursts = [&](bool yes) {
        ++looks;
        return !yes ? 25.0 : looks % 10 < 5 ? 100.0 : 0.0;
    };
    run(Nanos::millis(500), bursts);
    EXPECT_TRUE(several);
    EXPECT_GT(run(Nanos::millis(1000), bursts), 0.99);
}

/* Of two sides that wait for each other one alone gains nothing, and the other one hears of
 * it behind what is on its way. */
TEST_F(SpreadTrialTest, WaitsForAPeerThatFollowsLate)
{
    std::vector<bool> said(8); /* 16 ms ago */
    bool              peer = false;
    for (int look = 0; look < 100; ++look) {
        said.push_back(several);
        peer     = said[said.size() - 9];
        now     += Nanos::millis(2);
        arrived += several && peer ? 100e3 : 50e3;
        const Bytes all(static_cast<uint64_t>(arrived));
        several = trial.look(now, all, all, true, peer == several);
    }
    EXPECT_TRUE(several);
    EXPECT_FALSE(trial.tries());
}

/* One that cannot is not waited for for ever. */
TEST_F(SpreadTrialTest, AGainCountsAlsoIfThePeerDoesNotFollow)
{
    for (int look = 0; look < 100; ++look) {
        now     += Nanos::millis(2);
        arrived += several ? 100e3 : 50e3;
        const Bytes all(static_cast<uint64_t>(arrived));
        several = trial.look(now, all, all, true, !several);
    }
    EXPECT_TRUE(several);
    EXPECT_FALSE(trial.tries());
}

/* What was confirmed counts for longer. */
TEST_F(SpreadTrialTest, AGainIsTriedEverLessOften)
{
    run(Nanos::seconds(10), doubles);
    EXPECT_GT(run(Nanos::seconds(40), doubles), 0.995);
}

/* A gain of a twentieth is noise. */
TEST_F(SpreadTrialTest, ALittleIsNoGain)
{
    auto little = [](bool yes) { return yes ? 26.0 : 25.0; };
    EXPECT_LT(run(Nanos::seconds(4), little), 0.06);
}

} // namespace
