/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/*
 * Cost of one scheduling decision. Budget for `finish`: 100 ns with 4 paths,
 * 400 ns with 16; for a plan of 16 rails and 64 peers: 50 us. The argument is
 * the number of paths, for plan_all that of peers.
 */
#include "uct/fuselink/sched/planner.h"
#include "uct/fuselink/sched/policy.h"
#include "uct/fuselink/sched/rate_meter.h"
#include "uct/fuselink/sched/window.h"

#include <benchmark/benchmark.h>

#include <vector>

namespace {

using namespace fuselink::sched;

const Limits limits{};

/* Paths of unequal rates 1:2:4:8, each with the given part of its window in
 * flight, a little more or less from path to path. */
std::vector<PathView> make_paths(int64_t count, double fill)
{
    std::vector<PathView> paths;
    for (int64_t i = 0; i < count; ++i) {
        PathView path;
        path.rate = Rate::mbit(50 << (i % 4));
        path.overhead = Nanos::micros(100);
        path.window = window_for(path.rate, limits);
        const double part = fill * (1 - 0.01 * static_cast<double>(i % 7));
        path.in_flight = Bytes(static_cast<uint64_t>(
                part * static_cast<double>(path.window.count())));
        paths.push_back(path);
    }
    return paths;
}

void decide(benchmark::State &state, const char *name, double fill,
            Bytes remaining)
{
    const Policy *policy = find_policy(name);
    const std::vector<PathView> paths = make_paths(state.range(0), fill);
    Demand demand{.remaining = remaining, .total = remaining};
    for (auto _ : state) {
        /* The demand of every decision is the same, but not to the compiler. */
        benchmark::DoNotOptimize(demand);
        benchmark::DoNotOptimize(paths.data());
        benchmark::ClobberMemory();
        Choice choice = policy->next(paths, demand, limits);
        benchmark::DoNotOptimize(choice);
    }
}

/* All paths have room and there is much to send. */
void bulk(benchmark::State &state, const char *name)
{
    decide(state, name, 0.7, Bytes::mib(64));
}

/* All windows are full: the usual answer is to wait. */
void full(benchmark::State &state, const char *name)
{
    decide(state, name, 1.2, Bytes::mib(64));
}

/* The end of a transfer: shares decide, and some paths get none. */
void tail(benchmark::State &state, const char *name)
{
    decide(state, name, 0.3, Bytes::kib(60 * state.range(0)));
}

/* Little to send on idle paths: most are left out one by one. */
void little(benchmark::State &state, const char *name)
{
    decide(state, name, 0, Bytes::kib(16 + 4 * state.range(0)));
}

/* As much as all idle paths could share, were they equal: the slow ones are
 * left out one after another. The worst case. */
void crowd(benchmark::State &state, const char *name)
{
    decide(state, name, 0, Bytes::kib(16 * state.range(0)));
}

/* As bulk, with a plan that wants a part of it everywhere. */
void planned(benchmark::State &state, const char *name)
{
    const Policy *policy = find_policy(name);
    std::vector<PathView> paths = make_paths(state.range(0), 0.7);
    const Bytes remaining = Bytes::mib(64);
    for (PathView &path : paths) {
        path.planned = static_cast<double>(remaining.count()) /
                       static_cast<double>(paths.size());
    }
    Demand demand{
            .remaining = remaining, .total = remaining, .planned = true};
    for (auto _ : state) {
        benchmark::DoNotOptimize(demand);
        benchmark::DoNotOptimize(paths.data());
        benchmark::ClobberMemory();
        Choice choice = policy->next(paths, demand, limits);
        benchmark::DoNotOptimize(choice);
    }
}

/* One plan: the argument is the number of peers, each with a transfer over 16
 * unequal and unequally loaded rails. Every second call knows the demands of
 * the one before. */
void plan_all(benchmark::State &state)
{
    constexpr uint32_t rails = 16;
    const auto peers = static_cast<uint32_t>(state.range(0));
    Planner planner({.links = rails * (1 + peers),
                     .demands = peers,
                     .paths = rails * peers});
    uint64_t round = 0;
    for (auto _ : state) {
        planner.begin();
        for (uint32_t i = 0; i < rails * (1 + peers); ++i) {
            planner.add_link(Rate(1e9 * (1 + i % 4)),
                             Bytes(i * 7919 % 1'000'000));
        }
        for (uint32_t p = 0; p < peers; ++p) {
            Planner::Path paths[rails];
            for (uint32_t i = 0; i < rails; ++i) {
                paths[i] = {i, rails * (1 + p) + i};
            }
            planner.add_demand(p + round / 2 * peers,
                               Bytes(1'000'000 * (1 + p % 10)), paths);
        }
        double time = planner.solve();
        benchmark::DoNotOptimize(time);
        ++round;
    }
}

/* A policy's decision together with the views it needs. */
void with_views(benchmark::State &state, const char *name)
{
    const Policy *policy = find_policy(name);
    std::vector<RateMeter> meters;
    Nanos now = Nanos::millis(1);
    for (int64_t i = 0; i < state.range(0); ++i) {
        RateMeter meter(Rate::mbit(50 << (i % 4)), Nanos::micros(100));
        meter.on_post(now, Bytes::kib(100));
        meter.on_post(now, Bytes::kib(100));
        meter.on_complete(now + Nanos::millis(4), Bytes::kib(100));
        meters.push_back(meter);
    }
    now += Nanos::millis(5);
    Demand demand{.remaining = Bytes::mib(64), .total = Bytes::mib(64)};
    PathView paths[max_paths];
    for (auto _ : state) {
        benchmark::DoNotOptimize(demand);
        benchmark::DoNotOptimize(meters.data());
        benchmark::ClobberMemory();
        for (size_t i = 0; i < meters.size(); ++i) {
            paths[i] = view_of(meters[i], now, limits);
        }
        Choice choice = policy->next({paths, meters.size()}, demand, limits);
        benchmark::DoNotOptimize(choice);
    }
}

void meter_round_trip(benchmark::State &state)
{
    RateMeter meter(Rate::mbit(1000), Nanos::micros(50));
    Nanos now;
    for (auto _ : state) {
        meter.on_post(now, Bytes::kib(64));
        now += Nanos::micros(500);
        meter.on_complete(now, Bytes::kib(64));
        benchmark::DoNotOptimize(meter);
    }
}

} // namespace

#define FOR_PATHS(_function, _policy)                                          \
    BENCHMARK_CAPTURE(_function, _policy, #_policy)                            \
            ->Arg(1)                                                           \
            ->Arg(4)                                                           \
            ->Arg(16)                                                          \
            ->Arg(32)

FOR_PATHS(bulk, single);
FOR_PATHS(bulk, stripe);
FOR_PATHS(bulk, finish);
FOR_PATHS(bulk, idle);
FOR_PATHS(bulk, plan);
FOR_PATHS(bulk, auto);
FOR_PATHS(planned, plan);
FOR_PATHS(planned, auto);
FOR_PATHS(full, finish);
FOR_PATHS(full, idle);
FOR_PATHS(full, auto);
FOR_PATHS(tail, auto);
FOR_PATHS(little, auto);
FOR_PATHS(tail, finish);
FOR_PATHS(little, finish);
FOR_PATHS(crowd, finish);
FOR_PATHS(with_views, finish);
BENCHMARK(plan_all)->Arg(1)->Arg(8)->Arg(64);
BENCHMARK(meter_round_trip);

BENCHMARK_MAIN();
