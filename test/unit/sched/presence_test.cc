/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "sched/presence.h"

#include <gtest/gtest.h>

namespace fuselink::sched {
namespace {

/* A program, and who looks at it when he is to. */
class Looks : public ::testing::Test {
protected:
    static constexpr Nanos kStart = Nanos::millis(1000);

    /* It calls all the time until then, and moves data if it `moves`. */
    void calls_until(Nanos end, bool moves = true)
    {
        while (now < end) {
            now = std::min(now + presence.tick(now), end);
            ++calls;
            events += moves;
            look();
        }
    }
    /* It does not, but something is done for it each millisecond. */
    void is_away_until(Nanos end, bool helped = true)
    {
        while (now < end) {
            now = std::min(now + (presence.is_there(now) ? presence.tick(now) :
                                                           Nanos::millis(1)),
                           end);
            if (!look() && helped) {
                presence.note_help(now);
            }
        }
    }
    /* The longer one of the next two, while it calls. */
    Nanos longer_tick()
    {
        const Nanos first = presence.tick(now);
        calls_until(now + first);
        return std::max(first, presence.tick(now));
    }
    bool look()
    {
        ++looks;
        if (presence.note_calls(now, calls)) {
            presence.note_events(now, events);
        }
        return presence.is_there(now);
    }

    Nanos    now = kStart;
    Presence presence{kStart};
    uint64_t calls = 0, events = 0;
    unsigned looks = 0;
};

TEST_F(Looks, AreRareWhileItNeverWasAway)
{
    calls_until(kStart + Nanos::millis(1200));
    EXPECT_NEAR(looks, 200u, 4);
    EXPECT_TRUE(presence.is_there(now));
    EXPECT_TRUE(presence.is_there(now + Nanos::micros(1999)));
    EXPECT_FALSE(presence.is_there(now + Nanos::millis(2)));
}

TEST_F(Looks, AreRarerWhileItMovesNothing)
{
    calls_until(kStart + Nanos::millis(2000), false);
    looks = 0;
    calls_until(now + Nanos::millis(320), false);
    EXPECT_EQ(looks, 10u);
    EXPECT_EQ(presence.idle(now), Presence::kTickRare);
    ++calls, ++events;
    look();
    EXPECT_EQ(presence.idle(now), Presence::kTickIdle);
}

/* The first computation is found after 10 ms, those that follow after 2. */
TEST_F(Looks, AreOftenAfterAComputation)
{
    calls_until(kStart + Nanos::millis(100));
    EXPECT_GE(longer_tick(), Presence::kTickPresent - Presence::kTickVaries);
    is_away_until(now + Nanos::millis(50));
    calls_until(now + Nanos::millis(10));
    EXPECT_EQ(longer_tick(), Presence::kTick);
    calls_until(now + Nanos::millis(180));
    EXPECT_EQ(longer_tick(), Presence::kTick);
    calls_until(now + Nanos::millis(200));
    EXPECT_GE(longer_tick(), Presence::kTickPresent - Presence::kTickVaries);
}

/* For 5 ms at a time, so that it has called whenever two looks are 10 ms apart. */
TEST_F(Looks, AreOftenIfItComputesForShort)
{
    const Nanos end  = kStart + Nanos::millis(2000);
    unsigned    soon = 0, all = 0;
    while (now < end) {
        now = now + presence.tick(now);
        const int64_t us = (now - kStart).count() / 1000;
        calls  = static_cast<uint64_t>(us / 6000 * 1000 + std::max<int64_t>(us % 6000 - 5000, 0));
        events = calls;
        look();
        soon += now > kStart + Nanos::millis(500) && presence.tick(now) <= Presence::kTick;
        all  += now > kStart + Nanos::millis(500);
    }
    EXPECT_GT(soon, all * 9 / 10);
}

/* A rank that does not yield, with three others on its processor. */
TEST_F(Looks, AreVeryOftenWhereItSharesItsProcessor)
{
    for (unsigned i = 0; i < 20; ++i) {
        calls_until(now + Nanos::millis(3));
        is_away_until(now + Nanos::millis(9));
    }
    calls_until(now + Nanos::millis(1));
    EXPECT_EQ(presence.tick(now), Presence::kAwaySoon);
    EXPECT_FALSE(presence.is_there(now + Presence::kAwaySoon));
    calls_until(now + Presence::kShares);
    EXPECT_TRUE(presence.is_there(now + Presence::kAwaySoon));
}

/* Ranks that yield are away for a moment now and then, too. */
TEST_F(Looks, AreNoMoreForFewMomentsAway)
{
    for (unsigned i = 0; i < 20; ++i) {
        calls_until(now + Nanos::millis(40));
        is_away_until(now + Nanos::millis(3));
        calls_until(now + Nanos::millis(2));
        EXPECT_GE(presence.tick(now), Presence::kTick) << i;
        EXPECT_TRUE(presence.is_there(now + Presence::kAwaySoon));
    }
}

/* It was away as often, but there was nothing to do: it sleeps, and needs no help. */
TEST_F(Looks, AreNotOftenWhereNothingIsToBeDone)
{
    for (unsigned i = 0; i < 20; ++i) {
        calls_until(now + Nanos::millis(3));
        is_away_until(now + Nanos::millis(9), false);
    }
    calls_until(now + Nanos::millis(1));
    EXPECT_EQ(longer_tick(), Presence::kTick);
}

} // namespace
} // namespace fuselink::sched
