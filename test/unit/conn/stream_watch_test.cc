/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "conn/stream_watch.h"

#include <gtest/gtest.h>

namespace fuselink {
namespace {

constexpr sched::Nanos ms(int64_t n)
{
    return sched::Nanos::millis(n);
}

TEST(StreamWatch, ItsKernelIsAskedWhenNothingEndsForAWhile)
{
    StreamWatch watch;
    EXPECT_FALSE(watch.note(true, 0, ms(100)));
    EXPECT_FALSE(watch.note(true, 0, ms(107)));
    EXPECT_TRUE(watch.note(true, 0, ms(108)));
    EXPECT_FALSE(watch.note(true, 1, ms(109)));
    EXPECT_FALSE(watch.note(false, 1, ms(130)));
    EXPECT_FALSE(watch.note(true, 1, ms(131)));
    EXPECT_TRUE(watch.note(true, 1, ms(140)));
}

/* What was sent again counts as lost when something is acknowledged since. */
TEST(StreamWatch, CountsWhatPasses)
{
    StreamWatch watch;
    StreamState state;
    state.mss   = 1000;
    state.acked = 10'000;
    EXPECT_EQ(watch.take(state, ms(100)).packets, 10u);
    state.resent = 2'500;
    EXPECT_EQ(watch.take(state, ms(110)).lost, 0u);
    state.acked = 14'000;
    const StreamWatch::Passed passed = watch.take(state, ms(120));
    EXPECT_EQ(passed.packets, 4u);
    EXPECT_EQ(passed.lost, 3u);
    EXPECT_EQ(passed.since, ms(100)); /* nothing had passed when it was asked in between */
    watch.hear(state, ms(125));
    EXPECT_EQ(watch.take(state, ms(130)).packets, 0u);
    state.resent  = 7'500; /* five, of which three were there */
    state.in_vain = 3;
    state.acked   = 15'000;
    const StreamWatch::Passed later = watch.take(state, ms(140));
    EXPECT_EQ(later.lost, 2u);
    EXPECT_EQ(later.since, ms(120));
}

TEST(StreamWatch, TellsOfEachTimeOut)
{
    StreamWatch watch;
    StreamState state;
    EXPECT_EQ(watch.more_timeouts(state), 0u);
    state.retransmits = 2;
    EXPECT_EQ(watch.more_timeouts(state), 2u);
    EXPECT_EQ(watch.more_timeouts(state), 0u);
    state.retransmits = 0;
    EXPECT_EQ(watch.more_timeouts(state), 0u);
    state.retransmits = 1;
    EXPECT_EQ(watch.more_timeouts(state), 1u);
}

/* What ends shows that its wire carries. */
TEST(StreamWatch, HearsWhatEnds)
{
    StreamWatch watch;
    watch.note(true, 0, ms(100));
    EXPECT_EQ(watch.heard_at(), sched::Nanos());
    watch.note(true, 1, ms(104));
    EXPECT_EQ(watch.heard_at(), ms(104));
    watch.note(true, 1, ms(106));
    EXPECT_EQ(watch.heard_at(), ms(104));
}

/* Not for each that ends, and once more for the last. */
TEST(StreamWatch, ItsKernelIsAskedWhenItLastHeardSomething)
{
    StreamWatch watch;
    StreamState state;
    state.since_ack = ms(1);
    watch.note(true, 0, ms(100));
    EXPECT_FALSE(watch.may_hear(ms(100)));
    watch.note(true, 1, ms(102));
    ASSERT_TRUE(watch.may_hear(ms(102)));
    watch.hear(state, ms(102));
    EXPECT_EQ(watch.acked_at, ms(101));
    watch.note(true, 2, ms(104));
    EXPECT_FALSE(watch.may_hear(ms(104)));
    EXPECT_TRUE(watch.may_hear(ms(106)));
    watch.hear(state, ms(106));
    EXPECT_FALSE(watch.may_hear(ms(200)));
}

/* What had ended before it was looked at was another's: a lane goes on with the count of
 * the one before. */
TEST(StreamWatch, WhatItBeginsWithHasNotEndedThere)
{
    StreamWatch watch;
    watch.note(true, 17, ms(100));
    EXPECT_EQ(watch.heard_at(), sched::Nanos());
    watch.note(true, 18, ms(103));
    EXPECT_EQ(watch.heard_at(), ms(103));
}

/* A kernel sends some of it again soon, and then not for long. */
TEST(StreamWatch, RemembersSinceWhenNothingWasAcknowledged)
{
    StreamWatch watch;
    StreamState state;
    EXPECT_EQ(watch.unheard_from, sched::Nanos());
    state.segments   = 3;
    state.acked      = 1000;
    state.since_ack  = ms(2);
    state.since_sent = ms(1);
    watch.hear(state, ms(100));
    EXPECT_EQ(watch.unheard_from, ms(99));
    state.since_ack  = ms(12);
    state.since_sent = ms(0);
    watch.hear(state, ms(110));
    EXPECT_EQ(watch.unheard_from, ms(99));
    state.acked     = 2000;
    state.since_ack = ms(0);
    watch.hear(state, ms(112));
    EXPECT_EQ(watch.unheard_from, ms(112));
    state.segments = 0;
    watch.hear(state, ms(114));
    EXPECT_EQ(watch.unheard_from, sched::Nanos());
}

/* All may have stood still: what its kernel sends then is no try of before. */
TEST(StreamWatch, APauseIsNoSilence)
{
    StreamWatch watch;
    StreamState state;
    state.segments   = 3;
    state.acked      = 1000;
    state.since_ack  = ms(2);
    state.since_sent = ms(1);
    watch.hear(state, ms(100));
    state.since_ack  = ms(302);
    state.since_sent = ms(0);
    watch.hear(state, ms(400));
    EXPECT_EQ(watch.unheard_from, ms(400));
}

/* It was over when its kernel was asked because of it, but not when that was asked before. */
TEST(StreamWatch, AKernelsFirstTryIsASecondPacket)
{
    using sched::StallClock;
    for (const bool seen : {false, true}) {
        StreamWatch      watch;
        StreamState      state;
        sched::StallView view;
        state.segments = 3;
        state.acked    = 1000;
        if (seen) { /* 2 ms after the last of its packets */
            state.since_sent = state.since_ack = ms(2);
            watch.hear(state, ms(102));
        }
        view.in_flight = view.much = true;
        view.rtt                   = ms(2);
        view.tick                  = ms(4);
        StallClock::Health health  = StallClock::Health::Fine;
        sched::Nanos       now     = ms(108);
        for (; health != StallClock::Health::Dead && now < ms(300); now = now + ms(1)) {
            state.since_ack  = now - ms(100);
            state.since_sent = now - ms(108); /* the try */
            watch.hear(state, now);
            view.now          = now;
            view.acked_at     = watch.acked_at;
            view.sent_at      = now - state.since_sent;
            view.unheard_from = watch.unheard_from;
            view.peer_done_at = view.program_at = now;
            health                              = watch.clock.look(view);
        }
        EXPECT_EQ(health == StallClock::Health::Dead, seen);
        EXPECT_LE(now, seen ? ms(180) : ms(300));
    }
}

} // namespace
} // namespace fuselink
