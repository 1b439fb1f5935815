/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "relay/copy_pace.h"

#include <gtest/gtest.h>

namespace {

using fuselink::CopyPace;
using fuselink::sched::Nanos;

constexpr size_t kPiece = 1 << 20;

/* A link that takes `each` for a piece. */
struct Link {
    explicit Link(Nanos each, int copies = 20) : each_(each)
    {
        for (int i = 0; i < copies; ++i) {
            copy();
        }
    }
    void copy(bool out = true)
    {
        pace.begun(out, kPiece, now);
        now += each_;
        pace.ended(out, true, now);
    }
    /* Looks and sleeps until the copy that is under way is over: how often it looks, and
     * when it notices. */
    struct Course {
        unsigned looks = 0;
        Nanos    spent, late;
    };
    Course wait_for(Nanos over)
    {
        constexpr Nanos kLook = Nanos::micros(1); /* it takes */
        Course course;
        while (now < over) {
            const Nanos next = pace.next_look(now);
            ++course.looks;
            course.spent += kLook;
            now = std::max(next, now + kLook);
        }
        course.late = now - over;
        return course;
    }

    CopyPace pace;
    Nanos    now = Nanos::seconds(1);

private:
    Nanos each_;
};

TEST(CopyPace, LooksAllTheTimeWhereCopiesAreShort)
{
    Link link(Nanos::micros(20));
    link.pace.begun(true, kPiece, link.now);
    const auto course = link.wait_for(link.now + Nanos::micros(20));
    EXPECT_EQ(course.looks, 20u);
    EXPECT_LE(course.late, Nanos::micros(1));
}

TEST(CopyPace, SleepsUntilShortlyBeforeALongOneIsOver)
{
    Link link(Nanos::millis(80));
    link.pace.begun(true, kPiece, link.now);
    const Nanos begun = link.now;
    const Nanos first = link.pace.next_look(begun);
    EXPECT_GT(first, begun + Nanos::millis(75));
    EXPECT_LE(first, begun + Nanos::millis(80) - CopyPace::kSpin + Nanos::micros(50));
    const auto course = link.wait_for(begun + Nanos::millis(80));
    EXPECT_LE(course.spent, Nanos::micros(120));
    EXPECT_LE(course.late, Nanos::micros(50));
}

TEST(CopyPace, LooksSeldomerAtWhatIsLate)
{
    Link link(Nanos::millis(1));
    link.pace.begun(true, kPiece, link.now);
    const auto course = link.wait_for(link.now + Nanos::seconds(1));
    EXPECT_LE(course.looks, 1200u);
    EXPECT_LE(course.late, CopyPace::kMost);
}

TEST(CopyPace, LearnsAnew)
{
    Link slow(Nanos::millis(5)), fast(Nanos::millis(5));
    for (int i = 0; i < 200; ++i) {
        fast.pace.begun(true, kPiece, fast.now);
        fast.now += Nanos::millis(1);
        fast.pace.ended(true, true, fast.now);
    }
    slow.pace.begun(true, kPiece, slow.now);
    fast.pace.begun(true, kPiece, fast.now);
    EXPECT_GT(slow.pace.next_look(slow.now) - slow.now, Nanos::millis(4));
    EXPECT_LT(fast.pace.next_look(fast.now) - fast.now, Nanos::micros(1500));
}

/* The second has begun to move when the first was over. */
TEST(CopyPace, OneBehindAnother)
{
    Link link(Nanos::millis(10));
    link.pace.begun(true, kPiece, link.now);
    link.pace.begun(true, kPiece, link.now);
    link.now += Nanos::millis(10);
    link.pace.ended(true, true, link.now);
    EXPECT_GT(link.pace.next_look(link.now), link.now + Nanos::millis(9));
}

/* The two ways of a link do not hinder each other: the one that is over first. */
TEST(CopyPace, BothWays)
{
    Link link(Nanos::millis(10));
    for (int i = 0; i < 20; ++i) {
        link.pace.begun(false, kPiece, link.now);
        link.now += Nanos::millis(2);
        link.pace.ended(false, true, link.now);
    }
    link.pace.begun(true, kPiece, link.now);
    link.pace.begun(false, kPiece, link.now);
    EXPECT_LT(link.pace.next_look(link.now), link.now + Nanos::millis(2));
    link.now += Nanos::millis(2);
    link.pace.ended(false, true, link.now);
    EXPECT_GT(link.pace.next_look(link.now), link.now + Nanos::millis(7));
}

TEST(CopyPace, NothingUnderWay)
{
    Link link(Nanos::millis(1));
    EXPECT_EQ(link.pace.next_look(link.now), link.now);
    link.pace.ended(true, true, link.now); /* nobody has begun one */
    EXPECT_EQ(link.pace.next_look(link.now), link.now);
}

/* Where the next piece comes at once it is there before somebody would be woken. */
TEST(CopyPace, LingersAsLongAsAShortCopyTakes)
{
    Link quick(Nanos::micros(20)), slow(Nanos::millis(2)), fresh(Nanos::micros(20), 0);
    EXPECT_GT(quick.pace.lingers_until(), quick.now + Nanos::micros(10));
    EXPECT_LE(quick.pace.lingers_until(), quick.now + Nanos::micros(30));
    EXPECT_LE(slow.pace.lingers_until(), slow.now);
    EXPECT_LE(fresh.pace.lingers_until(), fresh.now);
    quick.pace.begun(true, kPiece, quick.now);
    quick.pace.ended(true, false, quick.now); /* it has failed */
    EXPECT_LE(quick.pace.lingers_until(), quick.now);
}

} // namespace
