/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "schedule.h"

#include <gtest/gtest.h>

namespace fuselink::sched::test {
namespace {

PathView weighing(double weight, uint64_t in_flight = 0)
{
    return PathView{.rate = Rate(weight),
                    .overhead = Nanos(),
                    .in_flight = Bytes(in_flight),
                    .window = Bytes(1 << 20)};
}

TEST(Stripe, SharesAreProportionalToWeights)
{
    EXPECT_EQ(schedule("stripe", {weighing(1), weighing(2), weighing(5)},
                       whole(8 * 1280), small_limits()),
              "0:1280 1:2560 2:6400");
}

TEST(Stripe, LargeSharesGoInEqualRounds)
{
    EXPECT_EQ(schedule("stripe", {weighing(1), weighing(3)}, whole(65536),
                       small_limits()),
              "0:2560 1:8192 0:2560 1:8192 0:2560 1:8192 "
              "0:2560 1:8192 0:2560 1:8192 0:2560 1:8192 0:1024");
}

TEST(Stripe, IgnoresLoad)
{
    const std::string alone = schedule("stripe", {weighing(1), weighing(1)},
                                       whole(30'000), small_limits());
    EXPECT_EQ(schedule("stripe", {weighing(1, 500'000), weighing(1)},
                       whole(30'000), small_limits()),
              alone);
}

TEST(Stripe, WaitsForThePathWhoseTurnItIs)
{
    PathView full = weighing(1, 1 << 20);
    EXPECT_EQ(schedule("stripe", {weighing(1), full, weighing(1)},
                       whole(12'000), small_limits()),
              "0:3840 wait");
    PathView closed = weighing(1);
    closed.open = false;
    EXPECT_EQ(schedule("stripe", {closed, weighing(1)}, whole(12'000),
                       small_limits()),
              "wait");
}

TEST(Stripe, TheTurnIsKeptAcrossWaiting)
{
    std::vector<PathView> paths{weighing(1), weighing(1, 1 << 20), weighing(1)};
    Demand demand = whole(12'000);
    const Policy &stripe = *find_policy("stripe");
    demand.remaining -= stripe.next(paths, demand, small_limits()).length;
    EXPECT_FALSE(stripe.next(paths, demand, small_limits()));
    EXPECT_FALSE(stripe.next(paths, demand, small_limits()));
    paths[1].in_flight = Bytes();
    EXPECT_EQ(stripe.next(paths, demand, small_limits()).path, 1u);
}

TEST(Stripe, SmallTransfersUseFewerPaths)
{
    EXPECT_EQ(schedule("stripe",
                       {weighing(1), weighing(1), weighing(1), weighing(1)},
                       whole(2500), small_limits()),
              "0:1024 1:1476");
}

/* Also a share that is less than a chunk a round, or less than a chunk. */
TEST(Stripe, LightPathsGetTheirShareAndNoMore)
{
    const Limits limits{.min_chunk = Bytes::kib(16),
                        .max_chunk = Bytes::kib(64)};
    for (double light : {0.3, 0.1, 0.03, 0.01, 0.001}) {
        std::vector<PathView> paths{weighing(light), weighing(1), weighing(1),
                                    weighing(1)};
        Demand demand = whole(8 << 20);
        double got = 0;
        while (!demand.remaining.is_zero()) {
            Choice c = find_policy("stripe")->next(paths, demand, limits);
            ASSERT_TRUE(c);
            got += c.path == 0 ? static_cast<double>(c.length.count()) : 0;
            demand.remaining -= c.length;
        }
        const double share = (8 << 20) * light / (3 + light);
        EXPECT_NEAR(got, share, 40'000) << light;
    }
}

TEST(Stripe, AWeightlessPathGetsNothing)
{
    EXPECT_EQ(schedule("stripe", {weighing(0), weighing(1), weighing(0)},
                       whole(12'000), small_limits()),
              "1:5888 1:6112");
}

TEST(Stripe, NoWeightsAtAllMeanEqualWeights)
{
    EXPECT_EQ(schedule("stripe", {weighing(0), weighing(0)}, whole(8192),
                       small_limits()),
              "0:4096 1:4096");
}

TEST(Stripe, TheTurnSurvivesTheLossOfAPath)
{
    std::vector<PathView> paths{weighing(1), weighing(1)};
    Demand demand = whole(12'000);
    demand.cursor = 7;
    EXPECT_EQ(find_policy("stripe")->next(paths, demand, small_limits()).path,
              1u);
}

} // namespace
} // namespace fuselink::sched::test
