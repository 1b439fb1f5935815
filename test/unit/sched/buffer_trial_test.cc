/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "sched/buffer_trial.h"

#include <gtest/gtest.h>

#include <functional>

namespace {

using namespace fuselink::sched;

class BufferTrialTest : public testing::Test {
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
                many = trial.look(now);
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
    static double slower(bool many) { return many ? 1700 : 5000; }
    static double longer(bool many) { return many ? 3000 : 1300; }
    static double same(bool) { return 100; }

    static constexpr Bytes kChunk = Bytes::kib(256);
    BufferTrial trial;
    Nanos       now = Nanos::seconds(5), pause;
};

TEST_F(BufferTrialTest, FewIsWhereItBegins)
{
    trial.begin(now);
    EXPECT_FALSE(trial.look(now));
}

TEST_F(BufferTrialTest, FewStayWhereManyAreSlower)
{
    run(Nanos::seconds(1), slower);
    EXPECT_LT(run(Nanos::seconds(20), slower), 0.02);
}

TEST_F(BufferTrialTest, ManyAreTakenWhereTheyBringMore)
{
    run(Nanos::millis(100), longer);
    EXPECT_GT(run(Nanos::seconds(20), longer), 0.95);
}

/* What is done in between, by this program or the peer, does not count. */
TEST_F(BufferTrialTest, SoItIsBetweenPauses)
{
    pause = Nanos::millis(20);
    run(Nanos::seconds(3), longer);
    EXPECT_GT(run(Nanos::seconds(20), longer), 0.95);
}

TEST_F(BufferTrialTest, WhereItIsTheSameFewStay)
{
    run(Nanos::seconds(2), same);
    EXPECT_LT(run(Nanos::seconds(20), same), 0.02);
}

/* Several at a time: the time in which any is under way counts once. */
TEST_F(BufferTrialTest, TransfersMayOverlap)
{
    for (int i = 0; i < 2000; ++i) {
        trial.begin(now);
        trial.begin(now);
        trial.sent(kChunk * 2);
        const bool many = trial.look(now);
        now += Nanos::micros(many ? 100 : 200);
        trial.arrived(kChunk * 2);
        trial.end(now);
        trial.end(now);
    }
    trial.begin(now);
    EXPECT_TRUE(trial.look(now));
}

} // namespace
