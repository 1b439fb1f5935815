/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "sched/quiet_clock.h"

#include <gtest/gtest.h>

namespace fuselink::sched {
namespace {

using Health = QuietClock::Health;

constexpr Nanos ms(int64_t n)
{
    return Nanos::millis(n);
}

/* A queue pair on which nothing ends any more, and what others hear meanwhile. */
class Pair {
public:
    Pair()
    {
        view.now = view.since = Nanos::seconds(100);
        view.limit            = ms(300);
    }

    /* The first time that it is Dead, from the beginning; max() if it is not. */
    template <typename Each> Nanos pass(Nanos time, Nanos every, Each &&each)
    {
        const Nanos end = view.now + time;
        while (view.now < end) {
            view.now += every;
            each();
            const Health health = clock.look(view);
            worst               = std::max(worst, health);
            if (health == Health::Dead) {
                return view.now - view.since;
            }
        }
        return Nanos::max();
    }
    Nanos passed() const { return view.now - view.since; }

    QuietView  view;
    QuietClock clock;
    Health     worst = Health::Fine;
};

TEST(QuietClock, LimitIsRetriesOrFourTimesTheWork)
{
    const Rate rate(1e6);
    EXPECT_EQ(QuietClock::limit(ms(67), Bytes(), Rate()), Nanos::micros(301'500));
    EXPECT_EQ(QuietClock::limit(ms(67), Bytes(1000), rate),
              Nanos::micros(301'500));
    EXPECT_EQ(QuietClock::limit(ms(67), Bytes(500'000), rate), ms(2000));
    EXPECT_EQ(QuietClock::limit(ms(67), Bytes(500'000'000), rate), ms(4000));
    EXPECT_EQ(QuietClock::limit(ms(67), Bytes(1), Rate()), ms(4000));
}

TEST(QuietClock, IsSuspectAndThenDead)
{
    Pair  pair;
    Nanos suspect;
    const Nanos dead = pair.pass(ms(1000), ms(2), [&] {
        pair.view.peer_heard_at = pair.view.now;
        if (pair.worst == Health::Suspect && suspect == Nanos()) {
            suspect = pair.passed();
        }
    });
    EXPECT_GE(suspect, ms(150));
    EXPECT_LE(suspect, ms(156));
    EXPECT_GE(dead, ms(300));
    EXPECT_LE(dead, ms(304));
}

TEST(QuietClock, IsSuspectAtMostWhileNothingIsHeardOfThePeer)
{
    Pair pair;
    EXPECT_EQ(pair.pass(Nanos::seconds(100), ms(2), [&] {
        pair.view.peer_heard_at = pair.view.since + ms(149);
    }), Nanos::max());
    EXPECT_EQ(pair.worst, Health::Suspect);
    EXPECT_EQ(pair.pass(ms(2), ms(2), [&] {
        pair.view.peer_heard_at = pair.view.now - ms(151);
    }), Nanos::max());
    EXPECT_NE(pair.pass(ms(2), ms(2), [&] {
        pair.view.peer_heard_at = pair.view.now - ms(150);
    }), Nanos::max());
}

TEST(QuietClock, AWireThatAnswersIsNotSilent)
{
    Pair pair;
    EXPECT_EQ(pair.pass(Nanos::seconds(100), ms(2), [&] {
        pair.view.peer_heard_at = pair.view.now;
        pair.view.wire_heard_at = pair.view.now - ms(150);
    }), Nanos::max());
    EXPECT_EQ(pair.worst, Health::Suspect);
}

TEST(QuietClock, AWireThatHasAnsweredOnceMayBeSilentSince)
{
    Pair        pair;
    const Nanos dead = pair.pass(ms(1000), ms(2), [&] {
        pair.view.peer_heard_at = pair.view.now;
        pair.view.wire_heard_at = pair.view.since + ms(200);
    });
    EXPECT_GE(dead, ms(500));
    EXPECT_LE(dead, ms(504));
}

/* The other NIC has no room for messages, for its program does not look. */
TEST(QuietClock, WhoDoesNotLookIsNotSilent)
{
    Pair pair;
    pair.view.may_wait = true;
    EXPECT_EQ(pair.pass(Nanos::seconds(3600), ms(50), [&] {
        pair.view.peer_heard_at = pair.view.now;
        pair.view.program_at    = pair.view.since + ms(100);
    }), Nanos::max());
    EXPECT_EQ(pair.worst, Health::Suspect);
    EXPECT_NE(pair.pass(ms(2), ms(2), [&] {
        pair.view.program_at = pair.view.now;
    }), Nanos::max());
}

/* What has come in a pause of ours is still to be looked at. */
TEST(QuietClock, APauseOfTheObserverIsNoSilence)
{
    Pair pair;
    pair.view.now          += Nanos::seconds(10);
    pair.view.peer_heard_at = pair.view.now;
    EXPECT_EQ(pair.clock.look(pair.view), Health::Fine);
    const Nanos before = pair.passed();
    const Nanos dead   = pair.pass(Nanos::seconds(1), ms(2), [&] {
        pair.view.peer_heard_at = pair.view.now;
    });
    EXPECT_GE(dead - before, ms(290));
    EXPECT_LE(dead - before, ms(300));
}

} // namespace
} // namespace fuselink::sched
