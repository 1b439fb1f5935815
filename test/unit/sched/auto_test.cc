/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "node_model.h"
#include "schedule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

/* That `auto` does not lose to any other policy, on model nodes. */
namespace fuselink::sched::test {
namespace {

using Process = NodeModel::Process;

double last(const char *policy, const std::vector<Rate> &nics,
            const std::vector<Process> &processes)
{
    NodeModel model(*find_policy(policy), nics, processes);
    const double seconds = seconds_of(model.run());
    EXPECT_GT(seconds, 0) << policy << " stuck";
    return seconds;
}

/* Stripe alone ignores whose NIC it is. When the owners of the others are done
 * soon it is ahead by what auto has committed to its own NIC by then, which is
 * no more than a window: four chunks of 2 ms. */
constexpr double committed = 8e-3;

void expect_best(const std::vector<Rate> &nics,
                 const std::vector<Process> &processes, const char *what,
                 double stripe_ahead = 0)
{
    const double mine = last("auto", nics, processes);
    for (const PolicyInfo &info : policies()) {
        const bool stripe = std::string(info.name) == "stripe";
        /* And the time that the overhead of a chunk may be off. */
        EXPECT_LT(mine, last(info.name, nics, processes) * 1.05 + 2e-4 +
                                (stripe ? stripe_ahead : 0))
                << what << " of " << processes[0].size.count() << " bytes, "
                << info.name;
    }
}

std::vector<Process> one_each(std::vector<double> sizes)
{
    std::vector<Process> processes;
    for (uint32_t i = 0; i < sizes.size(); ++i) {
        processes.push_back({.size = Bytes(uint64_t(sizes[i])), .own = i});
    }
    return processes;
}

TEST(Auto, BalancedTrafficStaysOnItsOwnNics)
{
    const std::vector<Rate> nics(4, Rate::mbit(200));
    for (const double size : {8e3, 1e5, 1e6, 8e6}) {
        const std::vector<Process> all = one_each({size, size, size, size});
        expect_best(nics, all, "balanced");
        NodeModel model(*find_policy("auto"), nics, all);
        EXPECT_LT(seconds_of(model.run()), size / 25e6 * 1.01 + 2e-4);
        EXPECT_EQ(model.trespasses(), 0);
    }
}

TEST(Auto, SkewedTraffic)
{
    const std::vector<Rate> nics(4, Rate::mbit(200));
    for (const double hot : {2.0, 4.0, 20.0}) {
        for (const double size : {1e5, 1e6, 4e6}) {
            expect_best(nics, one_each({hot * size, size, size, size}),
                        "skewed", committed);
            expect_best(nics, one_each({hot * size, size}), "idle ones");
            expect_best(nics, one_each({hot * size}), "alone");
        }
    }
}

TEST(Auto, AnOwnerReturns)
{
    const std::vector<Rate> nics(4, Rate::mbit(200));
    for (const int64_t when : {1, 7, 20, 33}) {
        std::vector<Process> two = one_each({8e6, 2e6});
        two[1].start = Nanos::millis(when);
        expect_best(nics, two, "return");
        NodeModel model(*find_policy("auto"), nics, two);
        ASSERT_EQ(model.run().size(), 2u);
        EXPECT_EQ(model.trespasses(), 0);
    }
}

TEST(Auto, UnequalNicsOfNobody)
{
    std::mt19937_64 rng(4);
    auto uniform = [&](double low, double high) {
        return std::uniform_real_distribution<double>(low, high)(rng);
    };
    for (int round = 0; round < 60; ++round) {
        std::vector<Rate> nics(1 + rng() % 6);
        for (Rate &rate : nics) {
            rate = Rate::mbit(std::exp(uniform(std::log(50), std::log(800))));
        }
        const double size = std::exp(uniform(std::log(2e5), std::log(2e7)));
        std::vector<Process> alone = one_each({size});
        alone[0].own = max_paths;
        expect_best(nics, alone, "unequal");
    }
}

TEST(Auto, ChoosesAsPlanOrFinish)
{
    PathView view{.rate = Rate(1e6), .in_flight = Bytes(),
                  .window = Bytes(16'000)};
    std::vector<PathView> paths(3, view);
    paths[2].planned = 9000;
    Demand demand = whole(9000);
    EXPECT_EQ(schedule("auto", paths, demand, small_limits()),
              schedule("finish", paths, demand, small_limits()));
    demand.planned = true;
    EXPECT_EQ(find_policy("auto")->next(paths, demand, small_limits()).path,
              2u);
}

} // namespace
} // namespace fuselink::sched::test
