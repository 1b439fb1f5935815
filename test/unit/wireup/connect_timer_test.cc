/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "wireup/connect_timer.h"

#include "../host/fake_host.h"

#include <gtest/gtest.h>

namespace {

using fuselink::ConnectTimer;
using fuselink::sched::Nanos;

class Client final : public ConnectTimer::Client {
public:
    bool is_unanswered() const override { return !answered; }
    void try_another() override { ++tries; }

    bool     answered = false;
    unsigned tries    = 0;
};

class ConnectTimerTest : public testing::Test {
protected:
    /* The program looks every so often: no pause of its own. */
    void pass(Nanos time)
    {
        constexpr Nanos kStep = Nanos::millis(10);
        for (const Nanos end = host.time + time; host.time < end;) {
            host.time += kStep;
            timer.check(host.time);
        }
    }

    FakeHost     host;
    ConnectTimer timer{host};
    Client       one, other;
};

TEST_F(ConnectTimerTest, TriesAnotherWhenTheTimeIsOver)
{
    timer.await(one);
    pass(ConnectTimer::kPatience - Nanos::millis(20));
    EXPECT_EQ(one.tries, 0u);
    EXPECT_TRUE(timer.open());
    pass(Nanos::millis(40));
    EXPECT_EQ(one.tries, 1u);
    EXPECT_TRUE(timer.empty());
    pass(ConnectTimer::kPatience * 2);
    EXPECT_EQ(one.tries, 1u);
}

TEST_F(ConnectTimerTest, WhoIsAnsweredTriesNone)
{
    timer.await(one);
    one.answered = true;
    EXPECT_FALSE(timer.open());
    timer.await(one);
    pass(ConnectTimer::kPatience * 2);
    EXPECT_EQ(one.tries, 0u);
}

TEST_F(ConnectTimerTest, TheShorterTimeIsOverFirst)
{
    timer.await(one);
    timer.await(other, ConnectTimer::kImpatience);
    pass(ConnectTimer::kImpatience + Nanos::millis(20));
    EXPECT_EQ(one.tries, 0u);
    EXPECT_EQ(other.tries, 1u);
}

TEST_F(ConnectTimerTest, AwaitingAnewBeginsAnew)
{
    timer.await(one, ConnectTimer::kImpatience);
    timer.await(one);
    pass(ConnectTimer::kImpatience * 2);
    EXPECT_EQ(one.tries, 0u);
    timer.await(one, ConnectTimer::kImpatience);
    pass(ConnectTimer::kImpatience * 2);
    EXPECT_EQ(one.tries, 1u);
}

/* Answers that have come meanwhile were not looked at. */
TEST_F(ConnectTimerTest, APauseOfTheProgramDoesNotCount)
{
    timer.await(one);
    pass(Nanos::millis(100));
    host.time += Nanos::seconds(60);
    timer.check(host.time);
    EXPECT_EQ(one.tries, 0u);
    pass(ConnectTimer::kPatience - Nanos::millis(200));
    EXPECT_EQ(one.tries, 0u);
    pass(Nanos::millis(200));
    EXPECT_EQ(one.tries, 1u);
}

TEST_F(ConnectTimerTest, WhoIsGoneIsNotCalled)
{
    {
        Client gone;
        timer.await(gone);
        timer.await(one);
        timer.forget(gone);
    }
    pass(ConnectTimer::kPatience * 2);
    EXPECT_EQ(one.tries, 1u);
}

} // namespace
