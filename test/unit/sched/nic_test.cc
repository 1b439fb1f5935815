/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "uct/fuselink/sched/nic.h"

#include "uct/fuselink/sched/window.h"

#include <gtest/gtest.h>

#include <vector>

namespace fuselink::sched {
namespace {

using Standing = PathView::Standing;

const Limits limits{Bytes::kib(16), Bytes::mib(4), Nanos::millis(2)};
const Bytes  chunk = Rate::mbit(100) * Nanos::millis(2);

/* A NIC and one path on it that has been busy at `rate`, and both idle now. */
struct Busy {
    explicit Busy(Rate rate = Rate::mbit(100))
    {
        nic.add_path();
        for (int i = 0; i < 10; ++i) {
            post(path);
            now += chunk / rate;
            end(path);
        }
    }
    void post(RateMeter &meter)
    {
        nic.on_post(now, chunk, meter.in_flight().is_zero());
        meter.on_post(now, chunk);
    }
    void end(RateMeter &meter, bool arrived = true)
    {
        if (arrived) {
            meter.on_complete(now, chunk);
        } else {
            meter.on_abandon(now, chunk);
        }
        nic.on_end(now, chunk, arrived, meter.in_flight().is_zero(), true);
    }
    PathView show(Standing standing = Standing::Free, Bytes ahead = Bytes(),
                  uint32_t sharers = 0, Bytes borrow_max = Bytes::max())
    {
        nic.look({.in_flight = ahead, .sharers = sharers,
                  .standing = standing}, now, limits);
        PathView view = view_of(path, now, limits);
        full = nic.show(path, now, limits, borrow_max, view);
        return view;
    }

    Nanos     now = Nanos::millis(1);
    Nic       nic{Rate::mbit(10'000), true};
    RateMeter path{Rate::mbit(10'000)};
    bool      full = false;
};

TEST(Nic, WithoutOthersAPathHasItForItself)
{
    Busy busy;
    const PathView view = busy.show();
    EXPECT_NEAR(view.rate.mbits_per_second(), 100, 1);
    EXPECT_EQ(view.window, window_for(busy.path, busy.now, limits));
    EXPECT_TRUE(view.ahead.is_zero());
    EXPECT_FALSE(busy.full);
}

TEST(Nic, BeforeAnythingIsMeasuredItIsAsReported)
{
    Nic nic(Rate::mbit(400), true);
    nic.look({}, Nanos::millis(1), limits);
    EXPECT_DOUBLE_EQ(nic.shared().rate.mbits_per_second(), 400);
    EXPECT_FALSE(nic.shared().known);
}

TEST(Nic, PathsOfOneProcessShareIt)
{
    Busy busy;
    RateMeter other{Rate::mbit(10'000)};
    const Bytes alone = busy.show().window;
    busy.post(other);
    EXPECT_EQ(busy.nic.sharers(busy.path), 2u);
    EXPECT_EQ(busy.nic.sharers(other), 1u);
    const PathView view = busy.show();
    EXPECT_NEAR(static_cast<double>(view.window.count()),
                static_cast<double>(alone.count()) / 2,
                static_cast<double>(alone.count()) / 50);
    EXPECT_EQ(view.ahead, chunk);
    busy.end(other, false);
    EXPECT_EQ(busy.nic.sharers(busy.path), 1u);
    EXPECT_EQ(busy.show().window, alone);
}

TEST(Nic, OthersBytesAreAhead)
{
    Busy busy;
    const Bytes alone = busy.show().window;
    const PathView view = busy.show(Standing::Free, Bytes(1000), 1);
    EXPECT_EQ(view.ahead, Bytes(1000));
    EXPECT_LE(view.window, alone);
    EXPECT_EQ(view.standing, Standing::Free);
}

TEST(Nic, WhoHasNothingOnAFullNicWaitsForHisTurn)
{
    /* So slow that a smallest chunk for each would be too much. */
    const Rate rate = Rate::mbit(0.5);
    Busy busy(rate);
    PathView view = busy.show(Standing::Free, Bytes::mib(64), 63);
    EXPECT_TRUE(busy.full);
    EXPECT_FALSE(view.open);
    /* 64 smallest chunks at 64 x what we had: as long as one of ours. */
    busy.now += limits.min_chunk / rate * 2;
    view = busy.show(Standing::Free, Bytes::mib(64), 63);
    EXPECT_FALSE(busy.full);
    EXPECT_TRUE(view.open);
    /* And who has something there waits for that to end. */
    busy.post(busy.path);
    view = busy.show(Standing::Free, Bytes::mib(64), 63);
    EXPECT_TRUE(busy.full);
}

/* As many smallest chunks as fill it for 32 ms are no reason to hold one back. */
TEST(Nic, FewPathsNeverWaitForATurn)
{
    Busy busy;
    std::vector<RateMeter> others(23, busy.path);
    for (RateMeter &other : others) { /* so many that parts are too small */
        busy.nic.add_path();
        busy.post(other);
    }
    busy.show(Standing::Free, Bytes::mib(64));
    EXPECT_FALSE(busy.full);
    busy.nic.add_path();
    busy.show(Standing::Free, Bytes::mib(64));
    EXPECT_TRUE(busy.full);
    busy.nic.remove_path();
    busy.show(Standing::Free, Bytes::mib(64));
    EXPECT_FALSE(busy.full);
}

/* Processes that have stopped sending may come back all at once. */
TEST(Nic, PathsAreThoseOfAllWhoWereThere)
{
    Busy busy;
    busy.nic.add_path();
    std::vector<RateMeter> others(23, busy.path);
    for (RateMeter &other : others) {
        busy.post(other);
    }
    const auto full = [&](uint32_t sharers) {
        busy.show(Standing::Free, Bytes::mib(64), sharers);
        return busy.full;
    };
    EXPECT_FALSE(full(4)); /* 5 x 100 Mbit/s for 32 ms: 122 chunks */
    full(63);
    EXPECT_TRUE(full(4));
    busy.nic.remove_path();
    EXPECT_FALSE(full(4));
}

TEST(Nic, OnTheNicOfAnotherIsHalfABatch)
{
    for (double mbit : {800.0, 8'000.0}) {
        Busy busy{Rate::mbit(mbit)};
        const PathView lent = busy.show(Standing::Lent);
        EXPECT_LE(lent.window + largest_chunk(lent, limits),
                  quantum_for(lent.rate, limits) / 2);
    }
}

TEST(Nic, WhoBorrowShareHalfABatch)
{
    Busy busy{Rate::mbit(40'000)};
    const PathView one  = busy.show(Standing::Lent);
    const PathView four = busy.show(Standing::Lent, Bytes::kib(64), 3);
    EXPECT_LE(four.window * 4, quantum_for(one.rate, limits) / 2);
    EXPECT_LT(four.window, one.window);
}

TEST(Nic, TheNicOfAnotherIsUsedALittle)
{
    Busy busy;
    const Bytes alone = busy.show().window;
    const PathView lent = busy.show(Standing::Lent);
    EXPECT_LT(lent.window + largest_chunk(lent, limits),
              quantum_for(lent.rate, limits) + limits.min_chunk);
    EXPECT_LT(lent.window, alone);
    EXPECT_EQ(busy.show(Standing::Lent, {}, 0, Bytes(5000)).window,
              Bytes(5000));
    const PathView taken = busy.show(Standing::Taken);
    EXPECT_EQ(taken.window, limits.min_chunk);
    EXPECT_EQ(taken.standing, Standing::Taken);
}

/* We have a third of what goes out, which others tell. */
TEST(Nic, ItsSpeedIsThatOfAllTogether)
{
    Busy busy;
    uint64_t theirs = 0;
    for (int i = 0; i < 50; ++i) {
        busy.post(busy.path);
        busy.nic.look({.in_flight = chunk, .completed = theirs, .sharers = 1},
                      busy.now, limits);
        busy.now += Nanos::millis(2);
        busy.end(busy.path);
        busy.post(busy.path);
        theirs += 2 * chunk.count();
        busy.nic.look({.in_flight = chunk, .completed = theirs, .sharers = 1},
                      busy.now, limits);
        busy.end(busy.path, false);
    }
    EXPECT_NEAR(busy.nic.shared().rate.mbits_per_second(), 300, 15);
}

} // namespace
} // namespace fuselink::sched
