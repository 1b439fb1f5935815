/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "sched/echo.h"

#include <deque>
#include <gtest/gtest.h>
#include <random>

namespace fuselink::sched {
namespace {

constexpr Nanos ms(int64_t n)
{
    return Nanos::millis(n);
}

TEST(Echo, SaysNothingWithoutAnAnswer)
{
    Echo echo;
    for (int64_t at = 1000; at < 1200; at += 2) {
        EXPECT_EQ(echo.look(ms(at), static_cast<uint64_t>(at), 0), Nanos());
    }
}

/* What was sent before the first look may be of any time. */
TEST(Echo, SaysNothingOfWhatWasSentBefore)
{
    Echo echo;
    EXPECT_EQ(echo.look(ms(1000), 5, 0), Nanos());
    EXPECT_EQ(echo.look(ms(1002), 5, 5), Nanos());
    EXPECT_EQ(echo.look(ms(1004), 6, 5), Nanos());
    EXPECT_EQ(echo.look(ms(1006), 6, 6), ms(1002));
}

TEST(Echo, IsWhenTheAnsweredWasSentAndNotWhenItWasRead)
{
    Echo echo;
    echo.look(ms(1000), 0, 0);
    echo.look(ms(1002), 3, 0);
    EXPECT_EQ(echo.look(ms(1100), 3, 3), ms(1000));
    EXPECT_EQ(echo.look(ms(1200), 3, 3), ms(1000));
    EXPECT_EQ(echo.look(ms(1300), 4, 4), ms(1200));
}

/* Whatever is sent and answered when, in order: it is never later than what was answered
 * last was sent, and not much earlier if looks are dense. */
TEST(Echo, IsNeverTooLateAndHardlyTooEarly)
{
    for (unsigned seed = 0; seed < 1000; ++seed) {
        std::minstd_rand  random(seed);
        Echo              echo;
        std::deque<Nanos> under_way;
        uint64_t          sent = 0, answered = 0;
        Nanos             last; /* when what was answered last was sent */
        unsigned          step = 0;
        for (Nanos now = ms(1000); now < ms(1400); now = now + Nanos::micros(500)) {
            if (random() % 3 == 0) {
                under_way.push_back(now);
                ++sent;
            }
            while (!under_way.empty() &&
                   (now - under_way.front() > ms(12) || random() % 8 == 0)) {
                last = under_way.front();
                under_way.pop_front();
                ++answered;
            }
            if (++step % 4 == 0) {
                const Nanos proved = echo.look(now, sent, answered);
                EXPECT_LE(proved, last) << seed;
                if (now > ms(1050)) {
                    EXPECT_GE(proved, last - ms(4)) << seed;
                }
            }
        }
    }
}

/* Some that were counted as sent are given up, and were not answered. */
TEST(Echo, MayBeTooEarlyIfSomeWereGivenUp)
{
    Echo echo;
    echo.look(ms(1000), 10, 0);
    echo.look(ms(1002), 7, 0);
    EXPECT_EQ(echo.look(ms(1004), 8, 8), Nanos());
    EXPECT_EQ(echo.look(ms(1006), 11, 11), ms(1004));
    EXPECT_EQ(echo.look(ms(1008), 11, 12), ms(1006)); /* more than was sent, by somebody hostile */
}

} // namespace
} // namespace fuselink::sched
