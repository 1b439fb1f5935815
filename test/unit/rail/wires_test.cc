/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "rail/wires.h"

#include <gtest/gtest.h>

namespace fuselink {
namespace {

using sched::Nanos;

constexpr Nanos at(int64_t ms)
{
    return Nanos::seconds(1000) + Nanos::millis(ms);
}

/* Two processes of a node, and a wire of both. */
class WiresTest : public testing::Test {
protected:
    WiresTest()
    {
        one.share(board, 7);
        other.share(board, 7);
    }

    std::shared_ptr<Board> board = Board::make_private();
    Wires                  one, other;
    Wire                   of_one, of_other; /* at the same place */
};

TEST_F(WiresTest, WhatOneHearsCountsForAll)
{
    one.heard(of_one, at(0), at(0));
    EXPECT_EQ(other.heard_at(of_other, at(5)), at(0));
    EXPECT_FALSE(other.may_be_silent(of_other, at(10)));
    EXPECT_TRUE(other.may_be_silent(of_other, at(20)));
    other.heard(of_other, at(21), at(21));
    EXPECT_EQ(one.heard_at(of_one, at(30)), at(21));
}

TEST_F(WiresTest, WhatOneHasProvedAllBelieve)
{
    one.heard(of_one, at(0), at(0));
    other.heard(of_other, at(2), at(2));
    one.proved_silent(of_one, at(30));
    other.look_at_others(of_other, at(31));
    EXPECT_TRUE(of_other.evidence.silent());
    EXPECT_EQ(other.take_changed(), &of_other);
}

/* By whomever, since then. */
TEST_F(WiresTest, NotIfSomethingHasComeSince)
{
    one.proved_silent(of_one, at(30));
    other.heard(of_other, at(31), at(31));
    other.look_at_others(of_other, at(32));
    EXPECT_FALSE(of_other.evidence.silent());
    Wires third;
    Wire  of_third;
    third.share(board, 7);
    third.look_at_others(of_third, at(33));
    EXPECT_FALSE(of_third.evidence.silent());
    EXPECT_EQ(third.take_changed(), nullptr);
}

TEST_F(WiresTest, WhereOneLosesMuchAllKnow)
{
    EXPECT_FALSE(other.drops(of_other, at(0)));
    one.passed(of_one, 100, 3, at(0), at(0));
    EXPECT_FALSE(other.drops(of_other, at(0)));
    one.passed(of_one, 100, 9, at(0), at(1));
    EXPECT_TRUE(one.drops(of_one, at(1)));
    EXPECT_TRUE(other.drops(of_other, at(2)));
    EXPECT_FALSE(other.drops(of_other, at(1100)));
}

/* Whoever hears something, it is a good wire. */
TEST_F(WiresTest, WhatIsSentOnceMoreIsInVainUntilAnyoneHears)
{
    one.heard(of_one, at(0), at(0));
    one.retried(of_one, 1, at(200), at(201));
    one.retried(of_one, 2, at(600), at(601));
    EXPECT_EQ(one.retries(of_one, at(601)), 3u);
    EXPECT_EQ(other.retries(of_other, at(601)), 0u); /* each counts its own */
    other.heard(of_other, at(610), at(610));
    EXPECT_EQ(one.retries(of_one, at(611)), 0u);
    one.retried(of_one, 1, at(605), at(612));
    EXPECT_EQ(one.retries(of_one, at(612)), 0u);
}

/* Kernels' first time-outs are no silence of the wire's, and a longer one is. */
TEST_F(WiresTest, WhatIsLostInALongSilenceDoesNotCount)
{
    one.heard(of_one, at(0), at(0));
    one.note_gap(of_one, at(250));
    one.passed(of_one, 10, 9, at(0), at(250));
    EXPECT_TRUE(one.drops(of_one, at(250)));
    one.heard(of_one, at(2000), at(2000));
    one.note_gap(of_one, at(2350));
    one.passed(of_one, 10, 9, at(2000), at(2350));
    EXPECT_FALSE(one.drops(of_one, at(3500)));
    EXPECT_FALSE(one.loses(of_one, at(2350)));
}

TEST_F(WiresTest, OldNewsIsNone)
{
    one.proved_silent(of_one, at(0));
    other.look_at_others(of_other, at(600));
    EXPECT_FALSE(of_other.evidence.silent());
}

TEST_F(WiresTest, WhatSpeaksAgainSpeaksForAll)
{
    one.proved_silent(of_one, at(0));
    other.look_at_others(of_other, at(1));
    ASSERT_EQ(other.take_changed(), &of_other);
    other.look_at_others(of_other, at(50));
    EXPECT_TRUE(of_other.evidence.silent());
    one.heard(of_one, at(60), at(60));
    other.look_at_others(of_other, at(61));
    EXPECT_FALSE(of_other.evidence.silent());
    EXPECT_EQ(other.take_changed(), &of_other);
}

TEST(Wires, WithoutABoardEachKnowsItsOwn)
{
    Wires one, other;
    Wire  of_one, of_other;
    one.heard(of_one, at(0), at(0));
    EXPECT_EQ(one.heard_at(of_one, at(1)), at(0));
    EXPECT_EQ(other.heard_at(of_other, at(1)), Nanos());
    one.proved_silent(of_one, at(30));
    other.look_at_others(of_other, at(31));
    EXPECT_FALSE(of_other.evidence.silent());
}

TEST(Wires, ARailIsNewAsLongAsItsLastConnection)
{
    Wires wires;
    EXPECT_FALSE(wires.is_new(1, at(0)));
    wires.note_new(1, at(0));
    EXPECT_TRUE(wires.is_new(1, at(499)));
    EXPECT_FALSE(wires.is_new(1, at(500)));
    EXPECT_FALSE(wires.is_new(0, at(1))) << "it is another";
    wires.note_new(1, at(600));
    EXPECT_TRUE(wires.is_new(1, at(1000)));
}

/* A queue pair waits: is it alone with that? */
class DoubtTest : public WiresTest {
protected:
    DoubtTest() { one.doubt(of_one, &whose, at(0)); }

    int whose = 0;
};

TEST_F(DoubtTest, OthersAreToldOnce)
{
    one.doubt(of_one, &whose, at(0));
    EXPECT_EQ(one.take_doubtful(), &of_one);
    EXPECT_EQ(one.take_doubtful(), nullptr);
    EXPECT_EQ(one.other_waits(of_one, at(0), at(200)), Nanos());
    one.doubt(of_one, &whose, at(0));
    EXPECT_EQ(one.take_doubtful(), &of_one);
}

TEST_F(DoubtTest, WhatWasAskedFirstCounts)
{
    one.note_other(of_one, at(150));
    one.note_other(of_one, at(160));
    EXPECT_EQ(one.other_waits(of_one, at(0), at(200)), at(150));
    /* Another doubt: what was asked for the last one says nothing. */
    EXPECT_EQ(one.other_waits(of_one, at(170), at(400)), Nanos());
    one.doubt(of_one, &whose, at(170));
    one.note_other(of_one, at(330));
    EXPECT_EQ(one.other_waits(of_one, at(170), at(400)), at(330));
}

TEST_F(DoubtTest, AnAnswerIsHeard)
{
    one.note_other(of_one, at(150));
    of_one.doubt.answered = true;
    one.note_answers(of_one, at(155));
    EXPECT_FALSE(of_one.doubt.answered);
    EXPECT_EQ(one.heard_at(of_one, at(156)), at(155));
    EXPECT_EQ(one.other_waits(of_one, at(0), at(200)), Nanos());
    /* It is asked anew, while the same one waits. */
    one.note_other(of_one, at(300));
    EXPECT_EQ(one.other_waits(of_one, at(0), at(400)), at(300));
    /* By whomever. */
    other.heard(of_other, at(310), at(310));
    EXPECT_EQ(one.other_waits(of_one, at(0), at(400)), Nanos());
}

} // namespace
} // namespace fuselink
