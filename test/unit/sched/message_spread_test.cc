/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "sched/message_spread.h"

#include <gtest/gtest.h>

#include <vector>

namespace {

using namespace fuselink::sched;

/* So fast that 25 kB take a millisecond. */
constexpr double kSpeed = 25e6;
const Nanos      kNow   = Nanos::seconds(5);

class MessageSpreadTest : public testing::Test {
protected:
    /* Two looks at a wire that has carried so much a second in between, and had more. */
    void learn(size_t wire, double speed, Bytes unacked = {})
    {
        spread.look(wire, kNow - Nanos::millis(8), Bytes(1000), Bytes::mib(1));
        const Bytes acked(1000 + static_cast<uint64_t>(speed * 8e-3));
        spread.look(wire, kNow, acked, Bytes(1));
        spread.look(wire, kNow, acked, unacked);
    }
    Nanos free_at(size_t wire, Bytes others = {})
    {
        return spread.free_at(wire, others, kNow);
    }
    size_t best(size_t count)
    {
        size_t one = 0;
        for (size_t i = 1; i < count; ++i) {
            one = free_at(i) < free_at(one) ? i : one;
        }
        return one;
    }

    MessageSpread spread;
};

TEST_F(MessageSpreadTest, OfUnknownSpeedAllHaveTheirTurn)
{
    std::vector<unsigned> given(4);
    for (int i = 0; i < 400; ++i) {
        const size_t wire = best(4);
        spread.gave(wire, Bytes(1000), kNow + Nanos(i));
        ++given[wire];
    }
    for (unsigned count : given) {
        EXPECT_EQ(count, 100u);
    }
}

TEST_F(MessageSpreadTest, AClockForEachWire)
{
    learn(0, kSpeed);
    EXPECT_EQ(spread.rate(0), Rate(kSpeed));
    spread.gave(0, Bytes(25000), kNow);
    EXPECT_EQ(free_at(0), kNow + Nanos::millis(1));
    spread.gave(0, Bytes(25000), kNow);
    EXPECT_EQ(free_at(0), kNow + Nanos::millis(2));
    spread.gave(0, Bytes(25000), kNow + Nanos::millis(10)); /* it was idle */
    EXPECT_EQ(free_at(0), kNow + Nanos::millis(11));
    /* Another is taken for as fast until it shows its speed. */
    spread.gave(1, Bytes(25000), kNow);
    EXPECT_EQ(free_at(1), kNow + Nanos::millis(1));
    learn(1, 5e6, Bytes(10000));
    EXPECT_EQ(free_at(1), kNow + Nanos::millis(2));
    EXPECT_EQ(free_at(1, Bytes(20000)), kNow + Nanos::millis(4));
    EXPECT_EQ(free_at(1, Bytes(5000)), kNow + Nanos::millis(2));
    spread.reset(1);
    EXPECT_EQ(spread.rate(1), Rate(kSpeed));
}

/* What the kernel has left puts the clock right, whether it was too early or late. */
TEST_F(MessageSpreadTest, TheKernelPutsTheClockRight)
{
    learn(0, kSpeed, Bytes(50000));
    EXPECT_EQ(free_at(0), kNow + Nanos::millis(2));
    spread.gave(0, Bytes(50000), kNow);
    EXPECT_EQ(free_at(0), kNow + Nanos::millis(4));
    spread.look(0, kNow, Bytes(60000), Bytes(0)); /* close to the last */
    EXPECT_EQ(free_at(0), kNow);
    EXPECT_EQ(spread.rate(0), Rate(kSpeed));
}

TEST_F(MessageSpreadTest, TheMostOfLately)
{
    learn(0, kSpeed);
    Nanos now   = kNow;
    Bytes acked = Bytes(201000);
    for (int i = 0; i < 11; ++i) { /* it is given less */
        now += Nanos::millis(8);
        acked += Bytes(1000);
        spread.look(0, now, acked, Bytes(0));
    }
    EXPECT_NEAR(spread.rate(0).bytes_per_second(), kSpeed / 2, kSpeed / 20);
    const Rate before = spread.rate(0);
    /* Of a time that was not looked at nothing is known. */
    spread.look(0, now + Nanos::millis(500), acked + Bytes(500), Bytes(0));
    EXPECT_EQ(spread.rate(0), before);
}

/* Of a wire that is given little nobody sees the speed. */
TEST_F(MessageSpreadTest, OneWithLittleToSendIsNotSlow)
{
    learn(0, kSpeed);
    Nanos now   = kNow;
    Bytes acked = Bytes(1000);
    for (int i = 0; i < 10; ++i) {
        now += Nanos::millis(8);
        acked += Bytes(100);
        spread.look(1, now, acked, Bytes(0));
    }
    EXPECT_EQ(spread.rate(1), Rate(kSpeed));
    spread.reset(1);
    learn(1, 1e6); /* others send there as well */
    EXPECT_EQ(spread.rate(1), Rate(1e6));
    now = kNow;
    for (int i = 0; i < 50; ++i) { /* and no more */
        now += Nanos::millis(8);
        spread.look(1, now, Bytes(3000 + static_cast<uint64_t>(i)), Bytes(0));
    }
    EXPECT_GT(spread.rate(1), Rate(kSpeed * 0.9));
}

/* Wires of speeds 2, 4 and 1: each gets its share. */
TEST_F(MessageSpreadTest, SharesBySpeed)
{
    learn(0, 20e6);
    learn(1, 40e6);
    learn(2, 10e6);
    std::vector<unsigned> given(3);
    for (int i = 0; i < 7000; ++i) {
        const size_t wire = best(3);
        spread.gave(wire, Bytes(1000), kNow);
        ++given[wire];
    }
    EXPECT_NEAR(given[0], 2000, 5);
    EXPECT_NEAR(given[1], 4000, 5);
    EXPECT_NEAR(given[2], 1000, 5);
}

} // namespace
