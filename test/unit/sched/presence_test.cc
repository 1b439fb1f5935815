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
    calls_until(kStart + Nanos::millis(800));
    EXPECT_EQ(looks, 100u);
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

/* The first computation is found after 8 ms, those that follow after 2. */
TEST_F(Looks, AreOftenAfterAComputation)
{
    calls_until(kStart + Nanos::millis(100));
    EXPECT_EQ(presence.tick(now), Presence::kTickPresent);
    is_away_until(now + Nanos::millis(50));
    calls_until(now + Nanos::millis(10));
    EXPECT_EQ(presence.tick(now), Presence::kTick);
    calls_until(now + Nanos::millis(180));
    EXPECT_EQ(presence.tick(now), Presence::kTick);
    calls_until(now + Nanos::millis(200));
    EXPECT_EQ(presence.tick(now), Presence::kTickPresent);
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
    EXPECT_EQ(presence.tick(now), Presence::kTick);
}

} // namespace
} // namespace fuselink::sched
