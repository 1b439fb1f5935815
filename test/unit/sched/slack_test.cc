/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "sched/slack.h"

#include <gtest/gtest.h>

namespace fuselink::sched {
namespace {

constexpr Nanos ms(int64_t n)
{
    return Nanos::millis(n);
}

TEST(Slack, IsNoneAtFirst)
{
    Slack slack;
    EXPECT_EQ(slack.at(ms(1000)), Nanos());
}

TEST(Slack, IsNoneForAWireThatWasOutForLong)
{
    Slack slack;
    slack.note_back(ms(1000), ms(1901));
    EXPECT_EQ(slack.at(ms(1901)), Nanos());
    slack.note_back(ms(1000), ms(1900));
    EXPECT_EQ(slack.at(ms(1900)), Slack::kFirst);
}

TEST(Slack, DoublesUpToItsMost)
{
    Slack slack;
    int64_t at = 1500;
    for (int64_t wanted : {30, 60, 120, 120}) {
        slack.note_back(ms(at - 500), ms(at));
        EXPECT_EQ(slack.at(ms(at)), ms(wanted));
        at += 1000;
    }
}

/* Wires to several peers, left and found again at one time. */
TEST(Slack, CountsWhatHappensTogetherOnce)
{
    Slack slack;
    for (int64_t at : {1500, 1500, 1510, 2399}) {
        slack.note_back(ms(1000), ms(at));
    }
    EXPECT_EQ(slack.at(ms(2399)), Slack::kFirst);
    slack.note_back(ms(2000), ms(2400));
    EXPECT_EQ(slack.at(ms(2400)), Slack::kFirst * 2);
}

TEST(Slack, FadesWithoutAnother)
{
    Slack slack;
    for (int64_t at : {-600, 450, 1500}) {
        slack.note_back(ms(at - 500), ms(at));
    }
    EXPECT_EQ(slack.at(ms(31'499)), ms(120));
    EXPECT_EQ(slack.at(ms(31'500)), ms(60));
    EXPECT_EQ(slack.at(ms(61'500)), ms(30));
    EXPECT_EQ(slack.at(ms(91'500)), ms(15));
    EXPECT_EQ(slack.at(ms(121'500)), Nanos());
    EXPECT_EQ(slack.at(Nanos::max()), Nanos());
    slack.note_back(ms(61'000), ms(61'600));
    EXPECT_EQ(slack.at(ms(61'600)), ms(60)); /* of 30 that were left */
}

} // namespace
} // namespace fuselink::sched
