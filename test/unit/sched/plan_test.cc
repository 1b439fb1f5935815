/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "node_model.h"
#include "schedule.h"

#include "uct/fuselink/sched/planner.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

/* Paths of 1 MB/s: a quantum is 4000 bytes, 3840 when it is not the last. */
namespace fuselink::sched::test {
namespace {

PathView path(double planned, uint64_t in_flight = 0)
{
    return PathView{.rate = Rate(1e6),
                    .overhead = Nanos(),
                    .in_flight = Bytes(in_flight),
                    .window = Bytes(16'000),
                    .planned = planned};
}

/* As schedule(), and keeps the plan up to date like the transport does. */
std::string plan(std::vector<PathView> paths, uint64_t bytes)
{
    Demand demand = whole(bytes);
    demand.planned = true;
    std::string text;
    while (!demand.remaining.is_zero()) {
        const Choice c =
                find_policy("plan")->next(paths, demand, small_limits());
        text += text.empty() ? "" : " ";
        if (!c) {
            return text + "wait";
        }
        text += std::to_string(c.path) + ":" + std::to_string(c.length.count());
        paths[c.path].in_flight += c.length;
        paths[c.path].planned -= double(c.length.count());
        demand.remaining -= c.length;
    }
    return text;
}

TEST(Plan, GivesEachPathItsPart)
{
    EXPECT_EQ(plan({path(2000), path(6000), path(0)}, 8000),
              "0:1792 1:3840 1:2368");
    EXPECT_EQ(plan({path(0), path(3000)}, 3000), "1:3000");
}

TEST(Plan, WaitsForItsPathsHoweverFreeOthersLook)
{
    EXPECT_EQ(plan({path(0), path(30'000)}, 30'000),
              "1:3840 1:3840 1:3840 1:3840 1:3840 wait");
}

TEST(Plan, WithoutOneItIsFinish)
{
    const std::vector<PathView> paths = {path(9000), path(0), path(3000, 50)};
    EXPECT_EQ(schedule("plan", paths, whole(9000), small_limits()),
              schedule("finish", paths, whole(9000), small_limits()));
    /* A plan for nothing is none. */
    EXPECT_EQ(plan({path(0), path(-5000)}, 9000),
              schedule("finish", {path(0), path(0)}, whole(9000),
                       small_limits()));
}

TEST(Plan, APathThatNothingWouldOpenIsNotWaitedFor)
{
    PathView closed = path(4000);
    closed.open = false;
    EXPECT_EQ(plan({closed, path(0)}, 4000), "1:4000");
    closed.in_flight = Bytes(1);
    EXPECT_EQ(plan({closed, path(0)}, 4000), "wait");
}

TEST(Plan, ATakenPathIsLeftAlone)
{
    PathView taken = path(4000);
    taken.standing = PathView::Standing::Taken;
    EXPECT_EQ(plan({taken, path(0)}, 4000), "1:4000");
}

TEST(Plan, APathThatHasBecomeSlowIsNotFollowed)
{
    std::vector<PathView> paths = {path(40'000), path(0)};
    Demand demand = whole(40'000);
    demand.planned = true;
    const Policy &policy = *find_policy("plan");
    EXPECT_EQ(policy.next(paths, demand, small_limits()),
              (Choice{0, Bytes(3840)}));
    paths[0].in_flight = Bytes(16'000);
    EXPECT_FALSE(policy.next(paths, demand, small_limits()));
    /* All slower: the plan is as good as it was. */
    paths[0].rate = paths[1].rate = Rate(1e5);
    EXPECT_FALSE(policy.next(paths, demand, small_limits()));
    /* Only this one: the other takes over. */
    paths[1].rate = Rate(1e6);
    EXPECT_EQ(policy.next(paths, demand, small_limits()).path, 1u);
}

/* Several transfers at once over unequal NICs, divided by the planner: they end
 * when it says, and `plan` and `auto` are not behind any other policy. */
TEST(Plan, TransfersEndWhenThePlannerSays)
{
    std::mt19937_64 rng(9);
    auto spread = [&](double low, double high) {
        return std::exp(std::uniform_real_distribution<double>(
                std::log(low), std::log(high))(rng));
    };
    for (int round = 0; round < 16; ++round) {
        std::vector<Rate> nics(2 + rng() % 5);
        Planner planner({.links = 16, .demands = 8, .paths = 64});
        planner.begin();
        std::vector<Planner::Path> paths;
        for (Rate &rate : nics) {
            rate = Rate::mbit(spread(100, 800));
            const uint32_t link = planner.add_link(rate, Bytes());
            paths.push_back({link, link});
        }
        std::vector<NodeModel::Process> processes(2 + rng() % 5);
        for (uint32_t i = 0; i < processes.size(); ++i) {
            processes[i].size = Bytes(uint64_t(spread(4e6, 3e7)));
            processes[i].own = max_paths;
            ASSERT_EQ(planner.add_demand(i, processes[i].size, paths), i);
        }
        const double promised = planner.solve();
        for (uint32_t i = 0; i < processes.size(); ++i) {
            const std::span<const double> split = planner.split(i);
            processes[i].plan.assign(split.begin(), split.end());
        }

        double others = HUGE_VAL, planned = 0;
        for (const PolicyInfo &info : policies()) {
            const std::string name = info.name;
            NodeModel model(*info.policy, nics, processes);
            const double seconds = seconds_of(model.run());
            ASSERT_GT(seconds, 0) << name;
            if (name == "plan" || name == "auto") {
                planned = std::max(planned, seconds);
            } else {
                others = std::min(others, seconds);
            }
        }
        EXPECT_LT(planned, promised * 1.05 + 1e-3) << "round " << round;
        EXPECT_LT(planned, others * 1.05 + 1e-3) << "round " << round;
    }
}

} // namespace
} // namespace fuselink::sched::test
