/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "schedule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

/* What all policies promise, whatever they are shown. */
namespace fuselink::sched::test {
namespace {

TEST(Policy, ListAndLookUpAgree)
{
    std::set<std::string> names;
    for (const PolicyInfo &info : policies()) {
        EXPECT_EQ(find_policy(info.name), info.policy);
        EXPECT_STREQ(info.policy->name(), info.name);
        const std::string summary = info.summary;
        EXPECT_GT(summary.size(), 10u);
        EXPECT_EQ(summary.find('\n'), std::string::npos);
        names.insert(info.name);
    }
    EXPECT_EQ(names, (std::set<std::string>{"single", "stripe", "idle", "finish",
                                             "plan", "auto"}));
}

TEST(Policy, OnlyExactNamesAreFound)
{
    for (const char *name : {"", "Finish", "finish ", "fin", "finishh"}) {
        EXPECT_EQ(find_policy(name), nullptr) << name;
    }
}

/* Random paths, from sensible to absurd. */
class Generator {
public:
    explicit Generator(uint64_t seed) : m_rng(seed) {}

    uint64_t up_to(uint64_t most) { return m_rng() % (most + 1); }
    bool one_in(uint64_t n) { return m_rng() % n == 0; }
    uint64_t magnitude(double low, double high)
    {
        const double e =
                std::uniform_real_distribution<double>(low, high)(m_rng);
        return static_cast<uint64_t>(std::pow(10, e));
    }

    PathView path()
    {
        PathView p;
        p.rate = one_in(20) ? Rate() :
                              Rate(static_cast<double>(magnitude(0, 12)));
        p.overhead = one_in(20) ? Nanos::max() :
                     one_in(20) ? Nanos(-1) :
                                  Nanos(int64_t(magnitude(0, 9)));
        p.in_flight = one_in(3) ? Bytes() : Bytes(magnitude(0, 8));
        p.window = one_in(20) ? Bytes() : Bytes(magnitude(0, 8));
        p.open = !one_in(4);
        p.drained = one_in(2) ? Bytes() : Bytes(magnitude(0, 8));
        p.probe = one_in(3);
        p.ahead = one_in(2)  ? Bytes() :
                  one_in(20) ? Bytes::max() :
                               Bytes(magnitude(0, 9));
        p.standing = static_cast<PathView::Standing>(up_to(3));
        p.planned = one_in(20) ? NAN :
                    one_in(20) ? INFINITY :
                    one_in(3)  ? -double(magnitude(0, 9)) :
                                 double(magnitude(0, 9));
        return p;
    }

    Limits limits()
    {
        if (one_in(2)) {
            return Limits();
        }
        Limits l;
        l.min_chunk = Bytes(magnitude(0, 6));
        l.max_chunk = l.min_chunk + Bytes(magnitude(0, 8));
        l.chunk_time = Nanos(int64_t(magnitude(0, 9)));
        if (one_in(5)) {
            std::swap(l.min_chunk, l.max_chunk);
        }
        if (one_in(10)) {
            l.min_chunk = Bytes();
        }
        if (one_in(10)) {
            l.max_chunk = Bytes();
        }
        if (one_in(10)) {
            l.chunk_time = Nanos(-1);
        }
        return l;
    }

    Demand demand()
    {
        Demand d;
        d.total = one_in(20) ? Bytes::max() : Bytes(magnitude(0, 11));
        d.remaining = one_in(3) ? d.total : Bytes(up_to(d.total.count() - 1));
        d.backlog = one_in(2)  ? Bytes() :
                    one_in(20) ? Bytes::max() :
                                 Bytes(magnitude(0, 11));
        d.home = static_cast<uint32_t>(up_to(40));
        d.cursor = static_cast<uint32_t>(up_to(40));
        d.planned = one_in(2);
        return d;
    }

private:
    std::mt19937_64 m_rng;
};

/* The path which a policy insists on, or max_paths if it takes any. */
uint32_t insists_on(const std::string &name, const std::vector<PathView> &paths,
                    const Demand &demand)
{
    const auto count =
            static_cast<uint32_t>(std::min<size_t>(paths.size(), max_paths));
    if (name == "single") {
        return demand.home % count;
    } else if (name != "stripe") {
        return max_paths;
    }
    bool any = false;
    for (uint32_t p = 0; p < count; ++p) {
        any = any || !paths[p].rate.is_zero();
    }
    uint32_t turn = demand.cursor % count;
    while (any && paths[turn].rate.is_zero()) {
        turn = (turn + 1) % count;
    }
    return turn;
}

TEST(Policy, KeepsItsPromisesWhateverItIsShown)
{
    for (const PolicyInfo &info : policies()) {
        Generator random(7);
        for (int round = 0; round < 40'000; ++round) {
            std::vector<PathView> paths(
                    random.up_to(random.one_in(9) ? 40 : 6));
            bool quiet = true;
            const bool calm = random.one_in(4);
            for (PathView &p : paths) {
                p = random.path();
                p.in_flight = calm ? Bytes() : p.in_flight;
            }
            for (size_t p = 0; p < paths.size() && p < max_paths; ++p) {
                quiet = quiet && paths[p].in_flight.is_zero();
            }
            const Limits limits = random.limits();
            Demand demand = random.demand();
            const Demand before = demand;

            bool others = false; /* paths that nobody else needs */
            for (size_t p = 0; p < paths.size() && p < max_paths; ++p) {
                others = others ||
                         paths[p].standing != PathView::Standing::Taken;
            }
            const std::string name = info.name;
            others = others && name != "single" && name != "stripe";
            const auto left_alone = [&](const PathView &p) {
                return others && p.standing == PathView::Standing::Taken;
            };

            const Choice c = info.policy->next(paths, demand, limits);
            ASSERT_EQ(demand.remaining, before.remaining);
            ASSERT_EQ(demand.total, before.total);
            ASSERT_EQ(demand.backlog, before.backlog);
            ASSERT_EQ(demand.home, before.home);

            if (c) {
                ASSERT_LT(c.path, std::min<size_t>(paths.size(), max_paths));
                const PathView &p = paths[c.path];
                ASSERT_TRUE(p.open);
                ASSERT_FALSE(left_alone(p)) << info.name;
                ASSERT_TRUE(p.in_flight.is_zero() || p.in_flight < p.window);
                ASSERT_LE(c.length, before.remaining);
                ASSERT_LE(c.length, std::max(limits.max_chunk, Bytes(1)));
                if (limits.valid() && c.length < limits.min_chunk) {
                    ASSERT_EQ(c.length, before.remaining);
                }
                continue;
            }
            if (paths.empty() || before.remaining.is_zero()) {
                continue;
            }
            /* It waits: then something is in flight that will wake it, or
             * what it needs is closed. */
            const uint32_t only_this = insists_on(info.name, paths, demand);
            for (uint32_t p = 0; p < paths.size() && p < max_paths; ++p) {
                if ((only_this == max_paths) || (only_this == p)) {
                    ASSERT_FALSE(quiet && paths[p].open &&
                                 !left_alone(paths[p]))
                            << info.name << " round " << round;
                }
            }
        }
    }
}

} // namespace
} // namespace fuselink::sched::test
