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

/* That something was sent again in vain is known a round trip later. */
TEST(StreamWatch, WhatSeemedToBeLostIsNotCountedTwice)
{
    StreamWatch watch;
    StreamState state;
    state.mss   = 1000;
    state.acked = 10'000;
    watch.take(state, ms(100));
    state.resent = 2'000;
    state.acked  = 11'000;
    EXPECT_EQ(watch.take(state, ms(104)).lost, 2u);
    state.in_vain = 2;
    state.acked   = 12'000;
    EXPECT_EQ(watch.take(state, ms(108)).lost, 0u);
    state.resent = 5'000;
    state.acked  = 13'000;
    EXPECT_EQ(watch.take(state, ms(112)).lost, 1u);
    state.resent = 6'000;
    state.acked  = 14'000;
    EXPECT_EQ(watch.take(state, ms(116)).lost, 1u);
}

/* A network that delivers all twice. */
TEST(StreamWatch, WhatComesTwiceHidesFewLosses)
{
    StreamWatch watch;
    StreamState state;
    state.mss     = 1000;
    state.acked   = 1'000'000;
    state.in_vain = 1000;
    watch.take(state, ms(100));
    state.resent = 20'000;
    state.acked  = 1'100'000;
    EXPECT_EQ(watch.take(state, ms(104)).lost, 12u);
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

/* A kernel's first try may be over when it is asked since nothing ends. */
TEST(StreamWatch, KnowsWhatWasSentTwice)
{
    StreamWatch watch;
    StreamState state;
    state.acked     = 10'000;
    state.since_ack = ms(50);
    state.segments  = 3;
    watch.hear(state, ms(1000));
    EXPECT_FALSE(watch.sent_again(state));
    state.resent    = 1'000;
    state.since_ack = ms(60);
    EXPECT_TRUE(watch.sent_again(state));
    watch.take(state, ms(1010));
    EXPECT_TRUE(watch.sent_again(state));
    state.acked     = 11'000; /* perhaps that */
    state.since_ack = ms(1);
    watch.hear(state, ms(1020));
    EXPECT_FALSE(watch.sent_again(state));
}

TEST(StreamWatch, WhatWasSentBeforeItLookedIsNotKnown)
{
    StreamWatch watch;
    StreamState state;
    state.acked     = 10'000;
    state.since_ack = ms(5);
    watch.hear(state, ms(1000)); /* nothing is in flight */
    state.segments  = 3;
    state.resent    = 1'000;
    state.since_ack = ms(15);
    watch.hear(state, ms(1010));
    EXPECT_FALSE(watch.sent_again(state));
    state.resent    = 2'000; /* nobody looked for long */
    state.since_ack = ms(1015);
    watch.hear(state, ms(2010));
    EXPECT_FALSE(watch.sent_again(state));
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
    watch.note(false, 0, ms(99));
    EXPECT_FALSE(watch.may_hear(ms(99)));
    watch.note(true, 0, ms(100));
    EXPECT_TRUE(watch.may_hear(ms(100))); /* it begins to wait */
    watch.hear(state, ms(100));
    watch.note(true, 1, ms(106));
    ASSERT_TRUE(watch.may_hear(ms(106)));
    watch.hear(state, ms(106));
    EXPECT_EQ(watch.acked_at, ms(105));
    watch.note(true, 2, ms(108));
    EXPECT_FALSE(watch.may_hear(ms(108)));
    EXPECT_TRUE(watch.may_hear(ms(110)));
    watch.hear(state, ms(110));
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

} // namespace
} // namespace fuselink
