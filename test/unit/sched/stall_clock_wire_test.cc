/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "stall_wire.h"

#include <gtest/gtest.h>

namespace fuselink::sched {
namespace {

TEST(StallClock, ARecentAcknowledgementBetweenTheTwoNicsMakesItSuspect)
{
    Wire wire;
    wire.view.in_flight = true;
    wire.look();
    const auto goes = [&] {
        wire.sent               = wire.view.now;
        wire.view.peer_done_at  = wire.view.now;
        wire.view.pair_acked_at = wire.view.now;
    };
    wire.pass(ms(590), ms(1), goes);
    EXPECT_EQ(wire.worst, Health::Suspect);
    /* But not for ever. */
    wire.view.retransmits = 2;
    EXPECT_NE(wire.pass(ms(10), ms(1), goes), Nanos::max());
}

/* Where the last acknowledgement between the two came later than this connection's, it
 * counts from then on: what left since is not answered either. */
TEST(StallClock, AWireThatFellSilentALittleLaterIsDead)
{
    for (int64_t later : {0, 15, 20, 40, 80}) {
        Wire wire;
        wire.view.in_flight = true;
        wire.look();
        const Nanos last = wire.view.now + ms(later);
        const Nanos dead = wire.pass(ms(400), ms(1), [&] {
            wire.sent               = wire.view.now;
            wire.view.peer_done_at  = wire.view.now;
            wire.view.pair_acked_at = std::min(wire.view.now, last);
        });
        EXPECT_LE(dead - last, ms(35)) << later;
        EXPECT_GE(dead - last, later < 13 ? ms(25) : ms(20)) << later;
    }
}

/* It needs a packet of its own that left since then, and that another path works since
 * then. */
TEST(StallClock, AWireThatFellSilentALittleLaterHasToBeTried)
{
    for (const bool tried : {false, true}) {
        Wire wire;
        wire.view.in_flight = true;
        wire.look();
        const Nanos last = wire.view.now + ms(40);
        wire.pass(ms(400), ms(1), [&] {
            wire.sent = tried ? wire.view.now : std::min(wire.view.now, last);
            wire.view.peer_done_at  = tried ? std::min(wire.view.now, last) :
                                              wire.view.now;
            wire.view.pair_acked_at = std::min(wire.view.now, last);
        });
        EXPECT_EQ(wire.worst, Health::Suspect) << tried;
    }
}

/* A connection that is full sends nothing more: another between the same two NICs does. */
TEST(StallClock, AWireThatFellSilentALittleLaterMayBeTriedByAnother)
{
    Wire wire;
    wire.view.in_flight = true;
    wire.look();
    const Nanos begun = wire.view.now, last = begun + ms(40);
    const Nanos dead  = wire.pass(ms(400), ms(1), [&] {
        wire.sent               = std::min(wire.view.now, begun + ms(12));
        wire.view.peer_done_at  = wire.view.now;
        wire.view.pair_acked_at = std::min(wire.view.now, last);
        wire.view.pair_sent_at  = std::min(wire.view.now, last + ms(12));
    });
    EXPECT_LE(dead - last, ms(40));
}

/* What others have heard is not forgotten, also if somebody says less. */
TEST(StallClock, WhatOthersHaveHeardCountsOn)
{
    Wire wire;
    wire.view.in_flight = true;
    wire.look();
    const Nanos begun = wire.view.now;
    EXPECT_EQ(wire.pass(ms(60), ms(1), [&] {
        wire.sent              = wire.view.now;
        wire.view.peer_done_at = wire.view.now;
        wire.view.pair_acked_at =
            wire.view.now.count() % 3'000'000 == 0 ? begun : wire.view.now - ms(1);
    }), Nanos::max());
}

/* A wire that drops packets is one that does, also if that is forgotten meanwhile. */
TEST(StallClock, ThatPacketsAreDroppedCountsForAllOfASilence)
{
    Wire wire;
    wire.view.in_flight = true;
    wire.view.drops     = true;
    wire.look();
    EXPECT_EQ(wire.pass(ms(400), ms(1), [&] {
        wire.sent              = wire.view.now;
        wire.view.peer_done_at = wire.view.now;
        wire.view.drops        = wire.worst == Health::Fine;
    }), Nanos::max());
}

/* A connection of which packets are lost, between NICs where others hear something now and
 * then: the kernel decides. */
TEST(StallClock, NeverGivesUpAWireThatOthersHear)
{
    Chance below(9);
    for (int run = 0; run < 300; ++run) {
        Wire wire(ms(1 + below(10)));
        wire.view.in_flight     = true;
        wire.view.rtt           = Nanos(1000 + below(20'000'000));
        wire.view.rtt_deviation = wire.view.rtt / 4;
        wire.look();
        Nanos next = wire.view.now;
        EXPECT_EQ(wire.pass(Nanos::seconds(2), Nanos(1 + below(4'000'000)), [&] {
            wire.sent              = wire.view.now - Nanos(below(1'000'000));
            wire.view.peer_done_at = wire.view.now;
            for (; next < wire.view.now; next += Nanos(1 + below(20'000'000))) {
                wire.view.pair_acked_at = next;
            }
        }), Nanos::max()) << run;
    }
}

/* Others pass where it does not: something keeps it, and it alone, from passing; or its packet
 * was lost three times, where others lose some, too. */
TEST(StallClock, WhereSomePacketsAreLostTheKernelTriesFourTimes)
{
    for (const bool loses : {false, true}) {
        Wire wire;
        wire.view.in_flight = true;
        wire.view.loses     = loses;
        wire.look();
        const auto others_pass = [&] {
            wire.sent               = wire.view.now;
            wire.view.peer_done_at  = wire.view.now;
            wire.view.pair_acked_at = wire.view.now;
            wire.view.loses         = loses && wire.worst == Health::Fine; /* and no more */
        };
        wire.pass(ms(590), ms(1), others_pass);
        EXPECT_EQ(wire.worst, Health::Suspect);
        wire.view.retransmits = 2;
        EXPECT_EQ(wire.pass(ms(10), ms(1), others_pass) != Nanos::max(), !loses);
        wire.view.retransmits = 3;
        EXPECT_EQ(wire.pass(ms(10), ms(1), others_pass) != Nanos::max(), !loses);
        wire.view.retransmits = 4;
        EXPECT_NE(wire.pass(ms(10), ms(1), others_pass), Nanos::max());
    }
}

/* A short queue behind a slow link: many are lost, one after the other. */
Wire dropping_wire()
{
    Wire wire;
    wire.view.in_flight = true;
    wire.view.drops     = true;
    wire.look();
    return wire;
}

TEST(StallClock, WherePacketsAreDroppedAllTheTimeTheKernelTriesTwice)
{
    Wire       wire = dropping_wire();
    const auto goes = [&] { wire.sent = wire.view.peer_done_at = wire.view.now; };
    wire.pass(ms(590), ms(1), goes);
    EXPECT_EQ(wire.worst, Health::Suspect);
    wire.view.retransmits = wire.view.wire_retries = 2;
    EXPECT_EQ(wire.pass(ms(400), ms(1), goes), Nanos::max());
    wire.view.wire_retries = 3; /* of any */
    EXPECT_NE(wire.pass(ms(10), ms(1), goes), Nanos::max());
}

/* There any connection may be the one that loses two in a row, but not all of them. */
TEST(StallClock, WherePacketsAreDroppedAllTheTimeOthersSayThatTheWireIsGood)
{
    Wire       wire = dropping_wire();
    const auto goes = [&] { wire.sent = wire.view.peer_done_at = wire.view.now; };
    wire.view.retransmits   = 2;
    wire.view.wire_retries  = 3;
    wire.view.pair_acked_at = wire.view.now + ms(1000);
    EXPECT_EQ(wire.pass(ms(1590), ms(1), goes), Nanos::max());
    EXPECT_NE(wire.pass(ms(20), ms(1), goes), Nanos::max()); /* 0.6 s without a word */

    Wire other             = dropping_wire();
    other.view.retransmits = 5;
    const auto heard = [&] {
        other.sent = other.view.peer_done_at = other.view.pair_acked_at = other.view.now;
    };
    EXPECT_EQ(other.pass(Nanos::seconds(10), ms(1), heard), Nanos::max());
    other.view.retransmits = 6;
    EXPECT_NE(other.pass(ms(10), ms(1), heard), Nanos::max());
}

} // namespace
} // namespace fuselink::sched
