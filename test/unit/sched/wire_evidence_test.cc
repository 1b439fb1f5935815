/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "sched/wire_evidence.h"

#include <gtest/gtest.h>

namespace {

using fuselink::sched::Nanos;
using fuselink::sched::WireEvidence;

TEST(WireEvidence, BeginsWithNothingKnown)
{
    WireEvidence wire;
    EXPECT_FALSE(wire.silent());
    EXPECT_EQ(wire.heard_at(), Nanos());
    EXPECT_FALSE(wire.heard(Nanos::millis(1)));
    EXPECT_EQ(wire.heard_at(), Nanos::millis(1));
}

TEST(WireEvidence, WhatWasHeardDoesNotGoBack)
{
    WireEvidence wire;
    wire.heard(Nanos::millis(5));
    wire.heard(Nanos::millis(3));
    EXPECT_EQ(wire.heard_at(), Nanos::millis(5));
}

TEST(WireEvidence, IsNewsOnce)
{
    WireEvidence wire;
    EXPECT_TRUE(wire.proved_silent(Nanos::millis(100)));
    EXPECT_TRUE(wire.silent());
    EXPECT_FALSE(wire.proved_silent(Nanos::millis(101)));
    EXPECT_TRUE(wire.heard(Nanos::millis(200)));
    EXPECT_FALSE(wire.silent());
    EXPECT_FALSE(wire.heard(Nanos::millis(201)));
    EXPECT_TRUE(wire.proved_silent(Nanos::millis(300)));
}

/* Other connections look later, and only then tell of what came before. */
TEST(WireEvidence, WhatCameBeforeTheProofChangesNothing)
{
    WireEvidence wire;
    wire.proved_silent(Nanos::millis(100));
    EXPECT_FALSE(wire.heard(Nanos::millis(60)));
    EXPECT_FALSE(wire.heard(Nanos::millis(100)));
    EXPECT_TRUE(wire.silent());
    wire.proved_silent(Nanos::millis(150)); /* by a second one */
    EXPECT_FALSE(wire.heard(Nanos::millis(140)));
    EXPECT_TRUE(wire.heard(Nanos::millis(151)));
}

TEST(WireEvidence, KnowsWhereManyAreLost)
{
    WireEvidence wire;
    EXPECT_FALSE(wire.drops(Nanos::millis(1000)));
    for (int64_t i = 0; i < 40; ++i) { /* four a second: now and then */
        wire.passed(20, 1, Nanos(1), Nanos::millis(1000 + 250 * i));
        ASSERT_FALSE(wire.drops(Nanos::millis(1000 + 250 * i)));
    }
    for (int64_t i = 0; i < 20; ++i) {
        wire.passed(20, 1, Nanos(1), Nanos::millis(12000 + 20 * i));
    }
    EXPECT_TRUE(wire.drops(Nanos::millis(12400)));
    EXPECT_TRUE(wire.drops(Nanos::millis(13000)));
    EXPECT_FALSE(wire.drops(Nanos::millis(15400)));
}

/* Few pass, as in the first second of a job on a slow link, and many of these are lost. */
TEST(WireEvidence, KnowsWhereManyOfFewAreLost)
{
    WireEvidence wire;
    for (int64_t i = 0; i < 3; ++i) {
        ASSERT_FALSE(wire.drops(Nanos::millis(1000 + 100 * i)));
        wire.passed(5, 1, Nanos(1), Nanos::millis(1000 + 100 * i));
    }
    EXPECT_TRUE(wire.drops(Nanos::millis(1200)));
    EXPECT_FALSE(wire.drops(Nanos::millis(2200)));

    WireEvidence busy; /* as many of more */
    for (int64_t i = 0; i < 3; ++i) {
        busy.passed(50, 1, Nanos(1), Nanos::millis(1000 + 100 * i));
    }
    EXPECT_FALSE(busy.drops(Nanos::millis(1200)));
}

/* What was lost as a cable was out is lost at once, and says nothing of what comes then. */
TEST(WireEvidence, LossesInASilenceDoNotCount)
{
    WireEvidence wire;
    wire.passed(1000, 0, Nanos::millis(900), Nanos::millis(1000));
    wire.note_gap(Nanos::millis(1150));
    wire.note_gap(Nanos::millis(1700));
    wire.passed(60, 30, Nanos::millis(1000), Nanos::millis(1720));
    wire.passed(10, 9, Nanos::millis(1690), Nanos::millis(1730));
    EXPECT_FALSE(wire.drops(Nanos::millis(1730)));
    EXPECT_FALSE(wire.loses(Nanos::millis(1730)));
    wire.passed(10, 9, Nanos::millis(1720), Nanos::millis(1740)); /* that was lost since */
    EXPECT_TRUE(wire.drops(Nanos::millis(1740)));
}

/* All that left before something was heard may have arrived. */
TEST(WireEvidence, CountsWhatIsSentOnceMoreInVain)
{
    WireEvidence wire;
    const Nanos  heard = Nanos::millis(1000);
    wire.retried(1, Nanos::millis(900), heard);
    EXPECT_EQ(wire.retries(heard), 0u);
    wire.retried(1, Nanos::millis(1100), heard);
    wire.retried(2, Nanos::millis(1200), heard);
    EXPECT_EQ(wire.retries(heard), 3u);
    wire.retried(1, Nanos::millis(950), heard);
    EXPECT_EQ(wire.retries(heard), 3u);
    EXPECT_EQ(wire.retries(Nanos::millis(1100)), 0u);
    wire.retried(1, Nanos::millis(1300), Nanos::millis(1250));
    EXPECT_EQ(wire.retries(Nanos::millis(1250)), 1u);
}

TEST(WireEvidence, KnowsWhereSomeWereLost)
{
    WireEvidence wire;
    EXPECT_FALSE(wire.loses(Nanos::millis(1000)));
    wire.passed(20, 1, Nanos(1), Nanos::millis(1000));
    EXPECT_TRUE(wire.loses(Nanos::millis(2900)));
    EXPECT_FALSE(wire.loses(Nanos::millis(3000)));
}

/* One at a time tries a silent wire; all may use another. */
TEST(WireEvidence, IsTriedNowAndThen)
{
    WireEvidence wire;
    EXPECT_TRUE(wire.may_try(Nanos::millis(1000)));
    EXPECT_TRUE(wire.may_try(Nanos::millis(1001)));
    wire.proved_silent(Nanos::millis(1002));
    EXPECT_FALSE(wire.may_try(Nanos::millis(1003)));
    EXPECT_TRUE(wire.may_try(Nanos::millis(1401)));
    EXPECT_FALSE(wire.may_try(Nanos::millis(1402)));
    EXPECT_TRUE(wire.may_try(Nanos::millis(1801)));
    wire.heard(Nanos::millis(1802));
    EXPECT_TRUE(wire.may_try(Nanos::millis(1803)));
}

} // namespace
