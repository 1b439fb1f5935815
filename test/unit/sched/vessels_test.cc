/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "uct/fuselink/sched/vessels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace fuselink::sched {
namespace {

Vessels vessels(const std::vector<double> &rates,
                const std::vector<double> &bases)
{
    Vessels v;
    v.home = max_paths; /* nobody's */
    for (size_t i = 0; i < rates.size(); ++i) {
        v.rate[i] = rates[i];
        v.base[i] = bases[i];
    }
    return v;
}

TEST(Vessels, EqualPathsShareEqually)
{
    const Vessels v = vessels({10, 10, 10, 10}, {0, 0, 0, 0});
    PathSet members = 0xf;
    EXPECT_DOUBLE_EQ(v.pour(100, 0, members), 2.5);
    EXPECT_EQ(members, 0xfu);
}

TEST(Vessels, WorkAheadIsPartOfTheLevel)
{
    const Vessels v = vessels({10, 10}, {20, 0});
    PathSet members = 0x3;
    EXPECT_DOUBLE_EQ(v.pour(40, 0, members), 3);
    EXPECT_DOUBLE_EQ(v.share(0, 3), 10);
    EXPECT_DOUBLE_EQ(v.share(1, 3), 30);
}

TEST(Vessels, PathsAboveTheLevelLeave)
{
    const Vessels v = vessels({10, 10, 10}, {0, 1000, 30});
    PathSet members = 0x7;
    EXPECT_DOUBLE_EQ(v.pour(20, 0, members), 2);
    EXPECT_EQ(members, 0x1u);
}

TEST(Vessels, SmallSharesLeave)
{
    const Vessels v = vessels({90, 10}, {0, 0});
    PathSet members = 0x3;
    EXPECT_DOUBLE_EQ(v.pour(90, 10, members), 1);
    EXPECT_EQ(members, 0x1u);
}

TEST(Vessels, WorkForOneChunkGoesWhereItIsDoneFirst)
{
    /* The slow idle path would need 12 s, the fast busy one 11.12 s. */
    const Vessels v = vessels({1, 100}, {0, 1100});
    PathSet members = 0x3;
    EXPECT_NEAR(v.pour(12, 16, members), 11.12, 1e-9);
    EXPECT_EQ(members, 0x2u);
}

TEST(Vessels, HomeIsPreferredAmongAlmostEquals)
{
    Vessels v = vessels({10, 10.4, 10}, {0, 0, 0});
    for (uint32_t home : {0u, 1u, 2u}) {
        v.home = home;
        PathSet members = 0x7;
        v.pour(10, 16, members);
        EXPECT_EQ(members, only(home));
    }
    v = vessels({10, 12, 10}, {0, 0, 0});
    v.home = 0;
    PathSet members = 0x7;
    v.pour(10, 16, members);
    EXPECT_EQ(members, only(1));
}

/* When the last of these paths is done, if just they share the work and each
 * has min_share or more; infinity when there is not enough for all. */
double time_of(const Vessels &v, PathSet set, double work, double min_share)
{
    if (std::has_single_bit(set)) {
        min_share = 0;
    } else if (work < min_share * std::popcount(set)) {
        return INFINITY;
    }
    double low = 0, high = 1e6;
    for (int i = 0; i < 100; ++i) {
        const double level = (low + high) / 2;
        double sum = 0;
        for_each(set, [&](uint32_t p) {
            sum += std::max(v.share(p, level), min_share);
        });
        (sum < work ? low : high) = level;
    }
    double last = high;
    for_each(set, [&](uint32_t p) {
        if (v.share(p, high) < min_share) {
            last = std::max(last, v.finish(p, min_share));
        }
    });
    return last;
}

/* Against trying all sets: the level is right when there is no minimum, and
 * with one it is close to the best that any choice of paths could reach. */
TEST(Vessels, NearlyAsGoodAsTryingEverySet)
{
    std::mt19937_64 rng(20260101);
    auto uniform = [&](double low, double high) {
        return std::uniform_real_distribution<double>(low, high)(rng);
    };
    double worst = 1, sum = 0;
    constexpr int rounds = 3000;
    for (int round = 0; round < rounds; ++round) {
        const uint32_t n = 1 + static_cast<uint32_t>(rng() % 6);
        Vessels v;
        v.home = max_paths;
        for (uint32_t p = 0; p < n; ++p) {
            v.rate[p] = std::exp(uniform(0, 4));
            v.base[p] = (rng() % 3 == 0) ? 0 : v.rate[p] * uniform(0, 3);
        }
        const double work = std::exp(uniform(2, 7));

        for (double min_share : {0.0, 10.0}) {
            double best = INFINITY;
            for (PathSet set = 1; set < only(n); ++set) {
                best = std::min(best, time_of(v, set, work, min_share));
            }
            PathSet members = only(n) - 1;
            const double level = v.pour(work, min_share, members);
            if (min_share == 0) {
                ASSERT_NEAR(level, best, 1e-9 * best);
                continue;
            }

            /* The shares are what they are called. */
            double given = 0, last = level;
            for_each(members, [&](uint32_t p) {
                double s = v.share(p, level);
                if (!std::has_single_bit(members) && s < min_share) {
                    s = min_share;
                    last = std::max(last, v.finish(p, min_share));
                }
                given += s;
            });
            ASSERT_NEAR(given, work, 1e-9 * work);
            worst = std::max(worst, last / best);
            sum += last / best;
        }
    }
    /* The worst are two or three chunks that could go so or so. */
    EXPECT_LT(worst, 1.3);
    EXPECT_LT(sum / rounds, 1.001);
}

} // namespace
} // namespace fuselink::sched
