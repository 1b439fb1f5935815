/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "sched/bulk_trials.h"

#include <gtest/gtest.h>

#include <functional>

namespace {

using namespace fuselink::sched;

class BulkTrialsTest : public testing::Test {
protected:
    /* One transfer after the other for so long, with pauses between them. `speed` with few
     * or many bytes at the kernel, in MB/s. Returns for how much of the transfers it might
     * take many. */
    double run(Nanos time, const std::function<double(bool)> &speed)
    {
        const Nanos end  = now + time;
        int         used = 0, all = 0;
        while (now < end) {
            trial.begin(now);
            bool many = false;
            for (int i = 0; i < 8; ++i) {
                many = trial.many(now);
                trial.sent(kChunk);
            }
            now += Nanos::seconds(static_cast<double>(kChunk.count()) * 8 / speed(many) / 1e6);
            trial.arrived(kChunk * 8);
            trial.end(now);
            now  += pause;
            used += many;
            ++all;
        }
        return double(used) / all;
    }
    /* A transfer alone, in short chunks or in one long one, each taking so many microseconds.
     * Returns the part of them that was long. */
    double run_alone(Nanos time, int64_t in_short, int64_t in_long, bool matters = true)
    {
        const Nanos end  = now + time;
        int         used = 0, all = 0;
        while (now < end) {
            trial.begin(now);
            const bool one = trial.long_chunks(now, matters);
            trial.sent(kChunk);
            now += Nanos::micros(one ? in_long : in_short);
            trial.arrived(kChunk);
            trial.end(now);
            now  += Nanos::micros(10);
            used += one;
            ++all;
        }
        return double(used) / all;
    }
    static double slower(bool many) { return many ? 1700 : 5000; }
    static double longer(bool many) { return many ? 3000 : 1300; }
    static double same(bool) { return 100; }

    static constexpr Bytes kChunk = Bytes::kib(256);
    BulkTrials trial;
    Nanos      now = Nanos::seconds(5), pause;
};

TEST_F(BulkTrialsTest, FewIsWhereItBegins)
{
    trial.begin(now);
    EXPECT_FALSE(trial.many(now));
}

TEST_F(BulkTrialsTest, FewStayWhereManyAreSlower)
{
    run(Nanos::seconds(1), slower);
    EXPECT_LT(run(Nanos::seconds(20), slower), 0.02);
}

TEST_F(BulkTrialsTest, ManyAreTakenWhereTheyBringMore)
{
    run(Nanos::millis(100), longer);
    EXPECT_GT(run(Nanos::seconds(20), longer), 0.95);
}

/* What is done in between, by this program or the peer, does not count. */
TEST_F(BulkTrialsTest, SoItIsBetweenPauses)
{
    pause = Nanos::millis(20);
    run(Nanos::seconds(3), longer);
    EXPECT_GT(run(Nanos::seconds(20), longer), 0.95);
}

TEST_F(BulkTrialsTest, WhereItIsTheSameFewStay)
{
    run(Nanos::seconds(2), same);
    EXPECT_LT(run(Nanos::seconds(20), same), 0.02);
}

/* Several at a time: the time in which any is under way counts once. */
TEST_F(BulkTrialsTest, TransfersMayOverlap)
{
    for (int i = 0; i < 2000; ++i) {
        trial.begin(now);
        trial.begin(now);
        trial.sent(kChunk * 2);
        const bool many = trial.many(now);
        now += Nanos::micros(many ? 100 : 200);
        trial.arrived(kChunk * 2);
        trial.end(now);
        trial.end(now);
    }
    trial.begin(now);
    EXPECT_TRUE(trial.many(now));
}

TEST_F(BulkTrialsTest, ChunksAreShortWhereNicsAreTheLimit)
{
    run_alone(Nanos::seconds(1), 100, 380);
    EXPECT_LT(run_alone(Nanos::seconds(20), 100, 380), 0.01);
}

TEST_F(BulkTrialsTest, ATransferGoesWholeWhereProcessorsAreTheLimit)
{
    run_alone(Nanos::millis(100), 124, 62);
    EXPECT_GT(run_alone(Nanos::seconds(20), 124, 62), 0.95);
}

TEST_F(BulkTrialsTest, WhatPartsDoNotCostGoesInParts)
{
    run_alone(Nanos::seconds(1), 100, 96);
    EXPECT_LT(run_alone(Nanos::seconds(20), 100, 96), 0.02);
}

TEST_F(BulkTrialsTest, NothingIsTriedWhereItDoesNotMatter)
{
    EXPECT_EQ(run_alone(Nanos::seconds(2), 124, 62, false), 0);
}

/* It is found out again when a wire has become the limit. */
TEST_F(BulkTrialsTest, WholeTransfersArePartedAgain)
{
    run_alone(Nanos::seconds(1), 124, 62);
    run_alone(Nanos::seconds(1), 500, 2000);
    EXPECT_LT(run_alone(Nanos::seconds(20), 500, 2000), 0.01);
}

/* While the one is tried the other stays as it is: both would be taken for one gain. */
TEST_F(BulkTrialsTest, OneThingIsTriedAtATime)
{
    bool both = false, either = false;
    while (now < Nanos::seconds(8)) {
        trial.begin(now);
        trial.sent(Bytes::kib(512));
        const bool many = trial.many(now), one = trial.long_chunks(now, true);
        both   = both || (many && one);
        either = either || many || one;
        now   += Nanos::micros(100); /* whatever is done */
        trial.arrived(Bytes::kib(512));
        trial.end(now);
    }
    EXPECT_TRUE(either);
    EXPECT_FALSE(both);
}

/* Long chunks are tried, and then nobody asks for them any more: many bytes are tried. */
TEST_F(BulkTrialsTest, ATryThatNobodyWatchesHoldsNoOther)
{
    trial.begin(now);
    trial.long_chunks(now, true);
    trial.end(now);
    run(Nanos::millis(200), longer);
    EXPECT_GT(run(Nanos::seconds(20), longer), 0.95);
}

} // namespace
