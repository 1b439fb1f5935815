/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "uct/fuselink/sched/rate_meter.h"

#include "uct/fuselink/sched/window.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <utility>

namespace fuselink::sched {
namespace {

constexpr double MBps = 1e6;

/* A path that serves chunks at a rate, with its meter and a clock. */
class Feed {
public:
    explicit Feed(RateMeter &meter) : m_meter(meter) {}

    /* One chunk alone, from idle to idle. */
    void one(Bytes chunk, Nanos time)
    {
        m_meter.on_post(now, chunk);
        now += time;
        m_meter.on_complete(now, chunk);
    }

    /* Chunks in a row, two in flight, each taking its time at the rate. */
    void stream(Bytes chunk, Rate rate, int count, Nanos overhead = Nanos())
    {
        m_meter.on_post(now, chunk);
        now += overhead;
        for (int i = 0; i < count; ++i) {
            if (i + 1 < count) {
                m_meter.on_post(now, chunk);
            }
            now += chunk / rate;
            m_meter.on_complete(now, chunk);
        }
    }

    Nanos now = Nanos::millis(5);

private:
    RateMeter &m_meter;
};

double rate_of(const RateMeter &meter)
{
    return meter.rate().bytes_per_second();
}

TEST(RateMeter, StartsWithThePrior)
{
    const RateMeter meter(Rate::mbit(10'000));
    EXPECT_FALSE(meter.known());
    EXPECT_EQ(meter.rate(), Rate::mbit(10'000));
    EXPECT_EQ(meter.rate(Nanos::millis(1)), Rate::mbit(10'000));
    EXPECT_EQ(RateMeter(Rate()).rate(), Rate::mbit(1000));
    EXPECT_EQ(RateMeter(Rate(1), Nanos(-5)).overhead(), Nanos(0));
}

TEST(RateMeter, CountsBytesInFlight)
{
    RateMeter meter(Rate::mbit(1000));
    meter.on_post(Nanos(0), Bytes(100));
    meter.on_post(Nanos(0), Bytes(50));
    EXPECT_EQ(meter.in_flight(), Bytes(150));
    meter.on_complete(Nanos(10), Bytes(100));
    EXPECT_EQ(meter.in_flight(), Bytes(50));
    meter.on_abandon(Nanos(20), Bytes(20));
    EXPECT_EQ(meter.in_flight(), Bytes(30));
    meter.on_complete(Nanos(30), Bytes(1000));
    EXPECT_EQ(meter.in_flight(), Bytes(0));
    meter.on_abandon(Nanos(40), Bytes(1));
    EXPECT_EQ(meter.in_flight(), Bytes(0));
}

TEST(RateMeter, FirstMeasurementsReplaceAPriorThatIsFarOff)
{
    for (double prior : {0.06, 0.6, 600.0, 6000.0}) {
        RateMeter meter(Rate(prior * MBps));
        Feed feed(meter);
        feed.stream(Bytes(25'000), Rate(6 * MBps), 4);
        EXPECT_TRUE(meter.known());
        EXPECT_NEAR(rate_of(meter), 6 * MBps, 0.01 * MBps) << prior;
    }
}

TEST(RateMeter, AShortGlimpseIsNoMeasurement)
{
    RateMeter meter(Rate(10 * MBps));
    Feed feed(meter);
    feed.one(Bytes(1000), Nanos::micros(2));
    EXPECT_FALSE(meter.known());
    EXPECT_EQ(meter.rate(), Rate(10 * MBps));
    /* But glimpses add up. */
    for (int i = 0; i < 300; ++i) {
        feed.one(Bytes(1000), Nanos::micros(2));
    }
    EXPECT_TRUE(meter.known());
    EXPECT_NEAR(rate_of(meter), 500 * MBps, 1 * MBps);
}

TEST(RateMeter, AFastPathIsMeasuredByBytes)
{
    RateMeter meter(Rate(100 * MBps));
    Feed feed(meter);
    feed.stream(Bytes::mib(1), Rate(10'000 * MBps), 2);
    EXPECT_TRUE(meter.known());
    EXPECT_NEAR(rate_of(meter), 10'000 * MBps, 100 * MBps);
}

TEST(RateMeter, IdleTimeDoesNotCount)
{
    RateMeter meter(Rate(1 * MBps));
    Feed feed(meter);
    for (int i = 0; i < 20; ++i) {
        feed.one(Bytes(100'000), Nanos::millis(4));
        feed.now += Nanos::millis(500);
    }
    EXPECT_NEAR(rate_of(meter), 25 * MBps, 0.01 * MBps);
}

TEST(RateMeter, OverheadDoesNotCount)
{
    RateMeter meter(Rate(1 * MBps), Nanos::millis(1));
    Feed feed(meter);
    for (int i = 0; i < 20; ++i) {
        feed.stream(Bytes(100'000), Rate(25 * MBps), 2, Nanos::millis(1));
    }
    EXPECT_NEAR(rate_of(meter), 25 * MBps, 0.01 * MBps);
}

TEST(RateMeter, AnOverstatedOverheadIsBelievedOnlySoFar)
{
    RateMeter meter(Rate(1 * MBps), Nanos::millis(1000));
    Feed feed(meter);
    for (int i = 0; i < 20; ++i) {
        feed.one(Bytes(100'000), Nanos::millis(4));
    }
    EXPECT_NEAR(rate_of(meter), 8 * 25 * MBps, 0.01 * MBps);
}

/* The documented meaning of the average: a sample of busy time t weighs
 * t / (t + evidence), evidence being capped at 64 ms. */
TEST(RateMeter, ASampleWeighsItsTimeAgainstTheEvidence)
{
    RateMeter meter(Rate(1 * MBps));
    Feed feed(meter);
    feed.one(Bytes(200'000), Nanos::millis(8)); /* 25 MB/s, evidence 8 ms */
    EXPECT_NEAR(rate_of(meter), 25 * MBps, 1);
    feed.one(Bytes(400'000), Nanos::millis(8)); /* 50 MB/s */
    EXPECT_NEAR(rate_of(meter), 37.5 * MBps, 1);

    for (int i = 0; i < 100; ++i) {
        feed.one(Bytes(200'000), Nanos::millis(8));
    }
    EXPECT_NEAR(rate_of(meter), 25 * MBps, 1000);
    feed.one(Bytes(3'200'000), Nanos::millis(64)); /* 50 MB/s, full memory */
    EXPECT_NEAR(rate_of(meter), 37.5 * MBps, 1000);
    feed.one(Bytes(600'000), Nanos::millis(16)); /* as it is */
    EXPECT_NEAR(rate_of(meter), 37.5 * MBps, 1000);
    feed.one(Bytes(1'000'000), Nanos::millis(16)); /* 62.5, a fifth */
    EXPECT_NEAR(rate_of(meter), 42.5 * MBps, 1000);
}

TEST(RateMeter, AStallCostsAtMostHalfTheEstimate)
{
    RateMeter meter(Rate(25 * MBps));
    Feed feed(meter);
    feed.stream(Bytes(100'000), Rate(25 * MBps), 50);
    feed.one(Bytes(100'000), Nanos::seconds(30));
    EXPECT_GT(rate_of(meter), 25 * MBps / 2);
    feed.stream(Bytes(100'000), Rate(25 * MBps), 50);
    EXPECT_NEAR(rate_of(meter), 25 * MBps, 1 * MBps);
    EXPECT_NEAR(meter.rate(feed.now).bytes_per_second(), 25 * MBps, 1 * MBps);
}

TEST(RateMeter, ABurstDoesNotSendTheEstimateToInfinity)
{
    RateMeter meter(Rate(25 * MBps));
    Feed feed(meter);
    feed.stream(Bytes(100'000), Rate(25 * MBps), 50);
    feed.one(Bytes(1'000'000'000), Nanos::micros(60));
    EXPECT_LT(rate_of(meter), 26 * MBps);
    feed.one(Bytes(4'000'000'000'000), Nanos::seconds(1));
    EXPECT_LT(rate_of(meter), 16 * 26 * MBps);
}

TEST(RateMeter, StaysWithinItsBounds)
{
    RateMeter slow(Rate(1));
    EXPECT_GE(rate_of(slow), 4096);
    Feed crawl(slow);
    for (int i = 0; i < 50; ++i) {
        crawl.one(Bytes(1), Nanos::seconds(100));
    }
    EXPECT_GE(rate_of(slow), 4096);
    EXPECT_GE(slow.rate(crawl.now).bytes_per_second(), 4096);

    RateMeter fast(Rate(1e15));
    EXPECT_LE(rate_of(fast), 1e12);
}

TEST(RateMeter, FollowsAChangeOfTheRate)
{
    RateMeter meter(Rate(25 * MBps));
    Feed feed(meter);
    feed.stream(Bytes(100'000), Rate(25 * MBps), 50);
    feed.stream(Bytes(100'000), Rate(2.5 * MBps), 8);
    EXPECT_LT(rate_of(meter), 3.5 * MBps);
    feed.stream(Bytes(16'000), Rate(25 * MBps), 400);
    EXPECT_GT(rate_of(meter), 22 * MBps);
}

TEST(RateMeter, SilenceLowersTheRateForDecisions)
{
    RateMeter meter(Rate(25 * MBps), Nanos::micros(100));
    Feed feed(meter);
    feed.stream(Bytes(100'000), Rate(25 * MBps), 50, Nanos::micros(100));
    const Nanos start = feed.now;
    meter.on_post(start, Bytes(100'000));
    /* Twice the time a chunk takes is still patience. */
    EXPECT_EQ(meter.rate(start + Nanos::millis(8)), meter.rate());
    EXPECT_NEAR(meter.rate(start + Nanos::micros(80'100)).bytes_per_second(),
                2.5 * MBps, 0.01 * MBps);
    EXPECT_GT(meter.rate(start + Nanos::seconds(1e6)).bytes_per_second(), 0);
    EXPECT_NEAR(rate_of(meter), 25 * MBps, 0.1 * MBps);
    /* Nothing in flight, nothing to miss. */
    meter.on_abandon(start + Nanos::millis(80), Bytes(100'000));
    EXPECT_EQ(meter.rate(start + Nanos::seconds(1)), meter.rate());
}

TEST(RateMeter, OneTerribleSampleCountsAtOnceForDecisions)
{
    RateMeter meter(Rate(25 * MBps));
    Feed feed(meter);
    feed.stream(Bytes(100'000), Rate(25 * MBps), 50);
    feed.one(Bytes(100'000), Nanos::millis(400)); /* 0.25 MB/s */
    EXPECT_GT(rate_of(meter), 12 * MBps);
    EXPECT_NEAR(meter.rate(feed.now).bytes_per_second(), 0.5 * MBps, 1000);
    /* A good one takes the doubt away. */
    feed.one(Bytes(100'000), Nanos::millis(4));
    EXPECT_EQ(meter.rate(feed.now), meter.rate());
}

TEST(RateMeter, CompletionsInBatchesAreAveraged)
{
    /* The process looks only every 20 ms and finds about five chunks. */
    RateMeter meter(Rate(1 * MBps));
    const Bytes chunk(100'000);
    Nanos done = Nanos::millis(4);
    std::deque<Nanos> flight;
    for (int i = 0; i < 10; ++i, done += Nanos::millis(4)) {
        meter.on_post(Nanos(), chunk);
        flight.push_back(done);
    }
    for (Nanos now = Nanos::millis(21); now < Nanos::seconds(2);
         now += Nanos::millis(21))
    {
        while (!flight.empty() && flight.front() <= now) {
            flight.pop_front();
            meter.on_complete(now, chunk);
            if (now > Nanos::millis(100)) {
                ASSERT_NEAR(rate_of(meter), 25 * MBps, 2.5 * MBps);
            }
            meter.on_post(now, chunk);
            flight.push_back(done);
            done += Nanos::millis(4);
        }
    }
    EXPECT_NEAR(rate_of(meter), 25 * MBps, 1 * MBps);
}

TEST(RateMeter, AbandonedBytesSayNothingAboutTheRate)
{
    RateMeter meter(Rate(25 * MBps));
    Feed feed(meter);
    feed.stream(Bytes(100'000), Rate(25 * MBps), 50);
    const Rate before = meter.rate();
    meter.on_post(feed.now, Bytes(1'000'000));
    feed.now += Nanos::seconds(5);
    meter.on_abandon(feed.now, Bytes(1'000'000));
    EXPECT_EQ(meter.rate(), before);
    EXPECT_EQ(meter.rate(feed.now), before);
    feed.stream(Bytes(100'000), Rate(25 * MBps), 50);
    EXPECT_NEAR(rate_of(meter), 25 * MBps, 0.1 * MBps);
}

TEST(RateMeter, TimeSpentOnAbandonedBytesIsNotTheOthers)
{
    RateMeter meter(Rate(25 * MBps));
    Feed feed(meter);
    feed.stream(Bytes(100'000), Rate(25 * MBps), 50);
    meter.on_post(feed.now, Bytes(100'000));
    meter.on_post(feed.now, Bytes(100'000));
    feed.now += Nanos::seconds(5);
    meter.on_abandon(feed.now, Bytes(100'000));
    feed.now += Nanos::millis(4);
    meter.on_complete(feed.now, Bytes(100'000));
    EXPECT_NEAR(rate_of(meter), 25 * MBps, 0.1 * MBps);
    EXPECT_EQ(meter.rate(feed.now), meter.rate());
}

TEST(RateMeter, DrainedGrowsWithTimeUpToAChunk)
{
    RateMeter meter(Rate(25 * MBps));
    Feed feed(meter);
    feed.stream(Bytes(100'000), Rate(25 * MBps), 50);
    EXPECT_EQ(meter.drained(feed.now + Nanos::millis(1)), Bytes());
    meter.on_post(feed.now, Bytes(100'000));
    meter.on_post(feed.now, Bytes(100'000));
    EXPECT_EQ(meter.drained(feed.now), Bytes());
    const auto at = [&](int64_t ms) {
        return static_cast<double>(
                meter.drained(feed.now + Nanos::millis(ms)).count());
    };
    EXPECT_NEAR(at(1), 25'000, 100);
    EXPECT_NEAR(at(3), 75'000, 100);
    /* A path that stalls makes no more progress. */
    EXPECT_NEAR(at(1000), 100'000, 100);
    EXPECT_EQ(meter.drained(feed.now - Nanos::millis(1)), Bytes());
}

TEST(RateMeter, DrainedKnowsThatAcknowledgementsTravel)
{
    RateMeter meter(Rate(25 * MBps), Nanos::millis(1));
    Feed feed(meter);
    feed.stream(Bytes(100'000), Rate(25 * MBps), 50, Nanos::millis(1));
    meter.on_post(feed.now, Bytes(100'000));
    meter.on_post(feed.now, Bytes(100'000));
    feed.now += Nanos::millis(5);
    meter.on_complete(feed.now, Bytes(100'000));
    /* What was acknowledged now had arrived a millisecond ago. */
    EXPECT_NEAR(static_cast<double>(meter.drained(feed.now).count()), 25'000,
                100);
}

TEST(RateMeter, AsksForAProbeWhenItKnowsNothing)
{
    RateMeter meter(Rate(25 * MBps));
    EXPECT_TRUE(meter.wants_probe(Nanos()));
    Feed feed(meter);
    feed.stream(Bytes(100'000), Rate(25 * MBps), 5);
    EXPECT_FALSE(meter.wants_probe(feed.now));
    EXPECT_FALSE(meter.wants_probe(feed.now + Nanos::millis(1999)));
    EXPECT_TRUE(meter.wants_probe(feed.now + Nanos::millis(2001)));
}

TEST(RateMeter, ProbesOfAHopelessPathAreRare)
{
    RateMeter meter(Rate(25 * MBps));
    Feed feed(meter);
    feed.stream(Bytes(16'384), Rate(16'384), 5); /* a second each */
    EXPECT_FALSE(meter.wants_probe(feed.now + Nanos::seconds(99)));
    EXPECT_TRUE(meter.wants_probe(feed.now + Nanos::seconds(101)));
}

TEST(RateMeter, FirstSamplesAreCheckedSooner)
{
    RateMeter meter(Rate(25 * MBps));
    Feed feed(meter);
    for (int sample = 0; sample < 3; ++sample) {
        feed.one(Bytes(16'384), Nanos::millis(100)); /* of a NIC that is fast */
        EXPECT_FALSE(meter.wants_probe(feed.now + Nanos::millis(990)));
        feed.now += Nanos::millis(1010);
        EXPECT_TRUE(meter.wants_probe(feed.now));
    }
    feed.one(Bytes(16'384), Nanos::millis(100));
    EXPECT_FALSE(meter.wants_probe(feed.now + Nanos::millis(9900)));
}

TEST(RateMeter, DoubtIsClearedUpSooner)
{
    RateMeter meter(Rate(25 * MBps));
    Feed feed(meter);
    feed.stream(Bytes(100'000), Rate(25 * MBps), 50);
    feed.one(Bytes(100'000), Nanos::millis(400)); /* 16 KiB take 66 ms */
    EXPECT_FALSE(meter.wants_probe(feed.now + Nanos::millis(600)));
    EXPECT_TRUE(meter.wants_probe(feed.now + Nanos::millis(700)));
}

TEST(RateMeter, AfterAStallOfSecondsThePathIsTriedSoonAndThenSeldom)
{
    RateMeter meter(Rate(25 * MBps));
    Feed feed(meter);
    feed.stream(Bytes(100'000), Rate(25 * MBps), 50);
    feed.one(Bytes(16'384), Nanos::seconds(7)); /* its cable was out */
    EXPECT_FALSE(meter.wants_probe(feed.now + Nanos::millis(990)));
    EXPECT_TRUE(meter.wants_probe(feed.now + Nanos::millis(1010)));
    feed.now += Nanos::millis(1010);
    feed.one(Bytes(16'384), Nanos::seconds(7)); /* no, it is so slow */
    EXPECT_FALSE(meter.wants_probe(feed.now + Nanos::seconds(39)));
    EXPECT_TRUE(meter.wants_probe(feed.now + Nanos::seconds(71)));
}

TEST(RateMeter, AnOutdatedEstimateIsReplacedQuickly)
{
    RateMeter meter(Rate(25 * MBps));
    Feed feed(meter);
    feed.stream(Bytes(100'000), Rate(5 * MBps), 50);
    feed.now += Nanos::seconds(3);
    feed.one(Bytes(400'000), Nanos::millis(16)); /* 25 MB/s */
    EXPECT_GT(rate_of(meter), 23 * MBps);
}

TEST(RateMeter, AClockThatStandsStillOrGoesBackHarmsNothing)
{
    RateMeter meter(Rate(25 * MBps), Nanos::millis(1));
    for (int i = 0; i < 100; ++i) {
        meter.on_post(Nanos(1000), Bytes::mib(1));
        meter.on_complete(Nanos(1000 - i), Bytes::mib(1));
    }
    EXPECT_EQ(meter.in_flight(), Bytes());
    EXPECT_EQ(meter.rate(), Rate(25 * MBps));
}

/* A sender that looks each so often, and fills its window; the wire goes on meanwhile. */
class Absent {
public:
    Absent(Rate wire, Nanos away) : m_wire(wire), m_away(away) {}

    /* Bytes a second, of the last second of three. */
    double run()
    {
        Bytes of_last;
        for (Nanos end = m_now + Nanos::seconds(3); m_now < end;
             m_now += m_away) {
            const Bytes came = acknowledge();
            of_last += m_now >= end - Nanos::seconds(1) ? came : Bytes();
            fill();
        }
        return static_cast<double>(of_last.count());
    }

    const RateMeter &meter() const { return m_meter; }

private:
    Bytes acknowledge()
    {
        Bytes came;
        while (!m_sent.empty() && m_sent.front().second <= m_now) {
            m_meter.on_complete(m_now, m_sent.front().first);
            came += m_sent.front().first;
            m_sent.pop_front();
        }
        return came;
    }

    void fill()
    {
        const Bytes window = window_for(m_meter, m_now, Limits());
        const Bytes chunk  = window / 4;
        while (m_meter.in_flight() < window) {
            m_meter.on_post(m_now, chunk);
            m_free = std::max(m_free, m_now) + chunk / m_wire;
            m_sent.push_back({chunk, m_free});
        }
        m_meter.on_full();
    }

    Rate      m_wire;
    Nanos     m_away;
    RateMeter m_meter{Rate(25 * MBps)};
    Nanos     m_now = Nanos::millis(5);
    Nanos     m_free; /* the wire is */
    std::deque<std::pair<Bytes, Nanos>> m_sent; /* and when they are there */
};

/* Each window would be gone in 16 ms. */
TEST(RateMeter, WhoIsAwayForLongHasAWiderWindow)
{
    for (int64_t away : {20, 30, 50, 80}) {
        EXPECT_GT(Absent(Rate(25 * MBps), Nanos::millis(away)).run(), 22 * MBps)
            << away << " ms";
    }
}

TEST(RateMeter, WhoLooksOftenHasNoWiderWindow)
{
    for (int64_t away : {1, 2, 4, 8}) {
        Absent absent(Rate(25 * MBps), Nanos::millis(away));
        EXPECT_GT(absent.run(), 24 * MBps);
        EXPECT_EQ(absent.meter().widened(Bytes(1000)), Bytes(1000));
    }
}

/* All of a window at once, so often. */
void at_once(RateMeter &meter, Nanos &now, int times)
{
    for (int i = 0; i < times; ++i) {
        for (int chunk = 0; chunk < 4; ++chunk) {
            meter.on_post(now, Bytes(16'384));
        }
        meter.on_full();
        now += Nanos::millis(30);
        for (int chunk = 0; chunk < 4; ++chunk) {
            meter.on_complete(now, Bytes(16'384));
        }
    }
}

TEST(RateMeter, WindowsAreAtMostEightTimesAsWideAndNarrowAgain)
{
    RateMeter meter(Rate(25 * MBps));
    Feed feed(meter);
    at_once(meter, feed.now, 1);
    EXPECT_EQ(meter.widened(Bytes(1000)), Bytes(2000));
    at_once(meter, feed.now, 5);
    EXPECT_EQ(meter.widened(Bytes(1000)), Bytes(8000));
    for (int64_t wide : {4000, 2000, 1000, 1000}) {
        feed.now += Nanos::millis(501);
        feed.one(Bytes(16'384), Nanos::millis(1));
        EXPECT_EQ(meter.widened(Bytes(1000)), Bytes(wide));
    }
}

/* An idle path takes a chunk that is larger than its window. */
TEST(RateMeter, TwoChunksThatComeTogetherSayNothing)
{
    RateMeter meter(Rate(25 * MBps));
    Nanos now = Nanos::millis(5);
    for (int i = 0; i < 10; ++i) {
        meter.on_post(now, Bytes(100'000));
        meter.on_post(now, Bytes(100'000));
        meter.on_full();
        now += Nanos::millis(40);
        meter.on_complete(now, Bytes(100'000));
        meter.on_complete(now, Bytes(100'000));
    }
    EXPECT_EQ(meter.widened(Bytes(1000)), Bytes(1000));
}

} // namespace
} // namespace fuselink::sched
