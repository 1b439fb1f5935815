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

TEST(WireEvidence, BelievesThePeerIfNothingCameLately)
{
    WireEvidence wire;
    EXPECT_TRUE(wire.may_be_silent(Nanos::millis(1000))); /* nothing ever came */
    wire.heard(Nanos::millis(1000));
    EXPECT_FALSE(wire.may_be_silent(Nanos::millis(1010)));
    EXPECT_TRUE(wire.may_be_silent(Nanos::millis(1020)));
}

} // namespace
