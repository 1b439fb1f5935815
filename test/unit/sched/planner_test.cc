/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "min_max.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace fuselink::sched::test {
namespace {

Planner for_tests()
{
    return Planner({.links = 64, .demands = 16, .paths = 256});
}

/* Gives the planner a problem; the keys of its demands are their places. */
double solve(Planner &planner, const Problem &problem)
{
    planner.begin();
    for (const Problem::Link &link : problem.links) {
        planner.add_link(Rate(link.capacity), Bytes(uint64_t(link.loaded)));
    }
    for (uint32_t d = 0; d < problem.demands.size(); ++d) {
        EXPECT_EQ(planner.add_demand(
                          d, Bytes(uint64_t(problem.demands[d].bytes)),
                          problem.demands[d].paths),
                  d);
    }
    return planner.solve();
}

/* What the split really loads, from its bytes alone. */
double time_of(const Planner &planner, const Problem &problem)
{
    double worst = 0;
    for (uint32_t e = 0; e < problem.links.size(); ++e) {
        double load = problem.links[e].loaded;
        for (uint32_t d = 0; d < problem.demands.size(); ++d) {
            const auto &paths = problem.demands[d].paths;
            for (size_t i = 0; i < paths.size(); ++i) {
                load += Problem::uses(paths[i], e) ? planner.split(d)[i] : 0;
            }
        }
        worst = std::max(worst, load / problem.links[e].capacity);
    }
    return worst;
}

void expect_whole(const Planner &planner, const Problem &problem)
{
    for (uint32_t d = 0; d < problem.demands.size(); ++d) {
        double sum = 0;
        for (const double bytes : planner.split(d)) {
            EXPECT_GE(bytes, -1e-6);
            sum += bytes;
        }
        EXPECT_NEAR(sum, problem.demands[d].bytes,
                    1e-9 * problem.demands[d].bytes + 1e-6);
    }
}

/* Rails of one sender, 0 to rails - 1, each to its like at every peer. */
Problem one_sender(uint32_t rails, const std::vector<double> &demands)
{
    Problem problem;
    const auto peers = static_cast<uint32_t>(demands.size());
    problem.links.assign(rails * (1 + peers), {1e6, 0});
    for (uint32_t d = 0; d < peers; ++d) {
        Problem::Demand demand{demands[d], {}};
        for (uint32_t i = 0; i < rails; ++i) {
            demand.paths.push_back({i, rails * (1 + d) + i});
        }
        problem.demands.push_back(demand);
    }
    return problem;
}

TEST(MinMax, KnowsWhatIsObvious)
{
    EXPECT_NEAR(MinMax(one_sender(4, {4e6})).solve(), 1, 1e-9);
    EXPECT_NEAR(MinMax(one_sender(2, {1e6, 3e6})).solve(), 2, 1e-9);
    Problem loaded = one_sender(2, {2e6});
    loaded.links[0].loaded = 1e6;
    EXPECT_NEAR(MinMax(loaded).solve(), 1.5, 1e-9);
    loaded.links[3].capacity = 0.1e6; /* the peer's second is slow */
    EXPECT_NEAR(MinMax(loaded).solve(), 3 / 1.1, 1e-9);
}

TEST(Planner, EqualRailsShareEqually)
{
    Planner planner = for_tests();
    const Problem problem = one_sender(4, {4e6, 8e6});
    EXPECT_NEAR(solve(planner, problem), 3, 0.01);
    expect_whole(planner, problem);
}

TEST(Planner, WhatIsLoadedIsLeftToOthers)
{
    Planner planner = for_tests();
    Problem problem = one_sender(2, {1e6});
    problem.links[2].loaded = 5e6; /* the peer's first: hot */
    EXPECT_NEAR(solve(planner, problem), 5, 1e-9);
    EXPECT_NEAR(planner.split(0)[1], 1e6, 1);
}

TEST(Planner, WhoCanGoElsewhereDoes)
{
    /* One demand has but the first rail; the other has both. */
    Planner planner = for_tests();
    Problem problem = one_sender(2, {2e6, 2e6});
    problem.demands[0].paths.resize(1);
    EXPECT_NEAR(solve(planner, problem), 2, 0.05);
    EXPECT_NEAR(planner.split(1)[1], 2e6, 0.05e6);
}

TEST(Planner, OneBottleneckIsBetterThanTwo)
{
    /* Once on both first links, or on either of them alone. */
    Planner planner = for_tests();
    Problem problem;
    problem.links.assign(4, {1e6, 0});
    problem.demands = {{1e6, {{0, 2}, {1, 2}, {0, 3}}}};
    EXPECT_NEAR(MinMax(problem).solve(), 0.5, 1e-9);
    EXPECT_LT(solve(planner, problem), 0.55);
}

/* Against the linear program: always possible, never better than the best,
 * and close to it. */
class Random {
public:
    explicit Random(uint64_t seed) : m_rng(seed) {}

    double uniform(double low, double high)
    {
        return std::uniform_real_distribution<double>(low, high)(m_rng);
    }
    double spread(double low, double high)
    {
        return std::floor(std::exp(uniform(std::log(low), std::log(high))));
    }
    uint32_t below(uint32_t n) { return uint32_t(m_rng() % n); }

    void vary(Problem &problem)
    {
        for (Problem::Link &link : problem.links) {
            link.capacity = spread(1e6, 1e7);
            link.loaded = below(2) ? 0 : std::floor(uniform(0, 1e7));
        }
    }

private:
    std::mt19937_64 m_rng;
};

struct Quality {
    double worst = 1;
    double sum = 0;
    int count = 0;

    void see(const Problem &problem)
    {
        Planner planner = for_tests();
        const double time = solve(planner, problem);
        const double best = MinMax(problem).solve();
        expect_whole(planner, problem);
        EXPECT_NEAR(time, time_of(planner, problem), 1e-9 * time);
        EXPECT_GT(time, best * (1 - 1e-6));
        worst = std::max(worst, time / best);
        sum += time / best;
        ++count;
    }
    double mean() const { return sum / count; }
};

TEST(Planner, NearTheOptimumForRailsOfOneSender)
{
    Random random(5);
    Quality like, any;
    for (int round = 0; round < 500; ++round) {
        const uint32_t rails = 2 + random.below(4);
        std::vector<double> demands(1 + random.below(4));
        for (double &bytes : demands) {
            bytes = random.spread(1e5, 1e8);
        }
        Problem problem = one_sender(rails, demands);
        random.vary(problem);
        like.see(problem);

        /* Not only like to like. */
        for (uint32_t d = 0; d < demands.size(); ++d) {
            auto &paths = problem.demands[d].paths;
            for (uint32_t i = 0; i < rails * rails; ++i) {
                if (random.below(2)) {
                    paths.push_back({i / rails, rails * (1 + d) + i % rails});
                }
            }
        }
        any.see(problem);
    }
    EXPECT_LT(like.worst, 1.03);
    EXPECT_LT(like.mean(), 1.003);
    EXPECT_LT(any.worst, 1.05);
    EXPECT_LT(any.mean(), 1.003);
}

TEST(Planner, MostlyNearTheOptimumForAnyLinks)
{
    Random random(6);
    Quality quality;
    for (int round = 0; round < 500; ++round) {
        Problem problem;
        problem.links.resize(2 + random.below(6));
        const auto links = uint32_t(problem.links.size());
        random.vary(problem);
        problem.demands.resize(1 + random.below(5));
        for (Problem::Demand &demand : problem.demands) {
            demand.bytes = random.spread(1e5, 1e8);
            demand.paths.resize(1 + random.below(5));
            for (Planner::Path &path : demand.paths) {
                path = {random.below(links), random.below(links)};
            }
        }
        quality.see(problem);
    }
    EXPECT_LT(quality.mean(), 1.01);
    EXPECT_LT(quality.worst, 1.5);
}

TEST(Planner, KeepsItsSplitUnlessAnotherIsBetterByTheMargin)
{
    Planner planner = for_tests();
    Problem problem = one_sender(4, {4e6, 8e6});
    solve(planner, problem);
    EXPECT_FALSE(planner.kept());
    const std::vector<double> before(planner.split(1).begin(),
                                     planner.split(1).end());

    problem.links[0].capacity = 0.98e6; /* a breath of noise */
    problem.demands[0].bytes = 2e6;     /* half is sent */
    problem.demands[1].bytes = 4e6;
    solve(planner, problem);
    EXPECT_TRUE(planner.kept());
    for (size_t i = 0; i < before.size(); ++i) {
        EXPECT_NEAR(planner.split(1)[i], before[i] / 2, 1);
    }
    expect_whole(planner, problem);

    problem.links[0].capacity = 0.3e6;
    EXPECT_LT(solve(planner, problem), MinMax(problem).solve() * 1.05);
    EXPECT_FALSE(planner.kept());
}

TEST(Planner, NewcomersGoAroundWhatIsKept)
{
    Planner planner = for_tests();
    Problem problem = one_sender(4, {4e6});
    solve(planner, problem);
    problem = one_sender(4, {4e6, 2e6});
    EXPECT_NEAR(solve(planner, problem), 1.5, 0.05);
    expect_whole(planner, problem);
}

TEST(Planner, RefusesWhatDoesNotFit)
{
    Planner planner({.links = 2, .demands = 1, .paths = 2});
    planner.begin();
    EXPECT_EQ(planner.add_link(Rate(1e6), Bytes()), 0u);
    EXPECT_EQ(planner.add_link(Rate(), Bytes()), 1u);
    EXPECT_EQ(planner.add_link(Rate(1e6), Bytes()), Planner::none);
    const std::vector<Planner::Path> three(3, {0, 1}), wrong = {{0, 2}};
    EXPECT_EQ(planner.add_demand(1, Bytes(1), three), Planner::none);
    EXPECT_EQ(planner.add_demand(1, Bytes(1), wrong), Planner::none);
    EXPECT_EQ(planner.add_demand(1, Bytes(1), {}), Planner::none);
    const std::vector<Planner::Path> right = {{0, 0}, {0, 1}};
    EXPECT_EQ(planner.add_demand(1, Bytes(100), right), 0u);
    EXPECT_EQ(planner.add_demand(2, Bytes(1), right), Planner::none);
    planner.solve();
    EXPECT_NEAR(planner.split(0)[0], 100, 1e-9);
    EXPECT_TRUE(planner.split(1).empty());
}

} // namespace
} // namespace fuselink::sched::test
