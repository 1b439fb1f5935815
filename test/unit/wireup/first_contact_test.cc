/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "wireup/first_contact.h"

#include <gtest/gtest.h>

namespace fuselink {
namespace {

using Verdict = FirstContact::Verdict;
using sched::Nanos;

constexpr Nanos kStart = Nanos::seconds(1000);

constexpr Nanos after(int64_t ms)
{
    return kStart + Nanos::millis(ms);
}

StreamState connecting()
{
    StreamState state;
    state.phase = StreamState::Phase::Connecting;
    return state;
}

/* Its kernel has answered; `bytes` are not acknowledged after so many time-outs. */
StreamState established(uint64_t bytes = 0, unsigned retransmits = 0)
{
    StreamState state;
    state.phase       = StreamState::Phase::Established;
    state.unacked     = sched::Bytes(bytes);
    state.segments    = bytes != 0;
    state.retransmits = retransmits;
    return state;
}

TEST(FirstContact, AKernelThatDoesNotAnswerHasLittleTimeIfThereIsAnotherNic)
{
    FirstContact contact;
    contact.begin(kStart);
    EXPECT_EQ(contact.look_at_connecting(connecting(), after(399), true), Verdict::Wait);
    EXPECT_EQ(contact.look_at_connecting(connecting(), after(401), true),
              Verdict::TryAnother);
    EXPECT_EQ(contact.look_at_connecting(connecting(), after(401), false), Verdict::Wait);
    EXPECT_EQ(contact.look_at_connecting(connecting(), after(2001), false),
              Verdict::BeginAnew);
    EXPECT_FALSE(contact.answered());
}

TEST(FirstContact, TheProgramHasMoreUnlessWhatItGotIsNotAcknowledged)
{
    FirstContact contact;
    contact.begin(kStart);
    EXPECT_EQ(contact.look_at_connecting(established(), after(1999), true), Verdict::Wait);
    EXPECT_TRUE(contact.answered());
    EXPECT_EQ(contact.look_at_connecting(established(), after(2001), true),
              Verdict::TryAnother);
    EXPECT_EQ(contact.look_at_connecting(established(100, 1), after(300), true),
              Verdict::Wait);
    EXPECT_EQ(contact.look_at_connecting(established(100, 2), after(300), true),
              Verdict::TryAnother);
}

/* A program that computes for an hour is waited for, if its kernel has answered. */
TEST(FirstContact, NothingIsBegunAnewWhereAKernelHasAnswered)
{
    FirstContact contact;
    contact.begin(kStart);
    EXPECT_EQ(contact.look_at_connecting(established(), after(3'600'000), false),
              Verdict::Wait);
    EXPECT_EQ(contact.unanswered(after(3'600'000)), Nanos());
}

TEST(FirstContact, SilenceIsThatOfAllItsConnections)
{
    FirstContact contact;
    contact.begin(kStart);
    for (const int64_t ms : {500, 1000, 1500, 2001}) {
        contact.look_at_connecting(connecting(), after(ms), false);
    }
    contact.begin(after(2001));
    EXPECT_EQ(contact.unanswered(after(3000)), Nanos::millis(3000));
    contact.look_at_connecting(established(), after(3000), false);
    contact.begin(after(5000));
    EXPECT_EQ(contact.unanswered(after(6000)), Nanos::millis(3000));
}

/* What was answered while this process was stopped was not looked at. */
TEST(FirstContact, APauseCountsForASecond)
{
    FirstContact contact;
    contact.begin(kStart);
    contact.look_at_connecting(connecting(), after(500), false);
    contact.look_at_connecting(connecting(), after(60'500), false);
    EXPECT_EQ(contact.unanswered(after(60'600)), Nanos::millis(1600));
    contact.begin(after(60'600));
    contact.look_at_connecting(connecting(), after(61'500), false);
    EXPECT_EQ(contact.unanswered(after(61'500)), Nanos::millis(2500));
}

TEST(FirstContact, IsLookedAtNowAndThen)
{
    FirstContact contact;
    contact.begin(kStart);
    EXPECT_TRUE(contact.due(kStart));
    contact.look_at_connecting(connecting(), kStart, true);
    EXPECT_FALSE(contact.due(after(49)));
    EXPECT_TRUE(contact.due(after(50)));
}

TEST(FirstContact, AHelloThatIsNotAcknowledgedLeavesItsWire)
{
    FirstContact contact;
    contact.begin(kStart);
    EXPECT_EQ(contact.look_at_hello(established(100), after(10)), Verdict::Wait);
    EXPECT_FALSE(contact.told());
    EXPECT_EQ(contact.look_at_hello(established(100, 1), after(300)), Verdict::Wait);
    EXPECT_EQ(contact.look_at_hello(established(100, 2), after(700)), Verdict::Leave);
    EXPECT_EQ(contact.look_at_hello(established(), after(800)), Verdict::Wait);
    EXPECT_TRUE(contact.told());
    contact.begin(after(900));
    EXPECT_FALSE(contact.told());
}

} // namespace
} // namespace fuselink
