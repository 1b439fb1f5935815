/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "dry_run.h"

#include "uct/fuselink/sched/rate_meter.h"
#include "uct/fuselink/sched/window.h"

#include <algorithm>

namespace fuselink::info {
namespace {

struct Flight {
    sched::Nanos ends;
    size_t       path;
    sched::Bytes length;
};

/* The one that ends first, which is taken out. */
Flight next_end(std::vector<Flight> &flights)
{
    auto   first  = std::min_element(flights.begin(), flights.end(),
                                     [](const Flight &x, const Flight &y) {
                                      return x.ends < y.ends;
                                  });
    Flight flight = *first;
    flights.erase(first);
    return flight;
}

} // namespace

std::vector<uint64_t> dry_run(const sched::Policy &policy,
                               const sched::Limits &limits,
                               const std::vector<Stage> &paths, uint64_t size,
                               bool fixed_weights)
{
    const size_t count = std::min<size_t>(paths.size(), sched::max_paths);
    std::vector<uint64_t>         moved(paths.size());
    std::vector<sched::RateMeter> meters;
    std::vector<sched::Nanos>     free_at(count);
    std::vector<sched::PathView>  views(count);
    std::vector<Flight>           flights;
    for (size_t i = 0; i < count; ++i) {
        meters.emplace_back(paths[i].rate);
    }
    sched::Demand demand;
    demand.total = demand.remaining = sched::Bytes(size);
    sched::Nanos now;
    while (!demand.remaining.is_zero()) {
        for (size_t i = 0; i < count; ++i) {
            views[i] = sched::view_of(meters[i], now, limits, true);
            views[i].overhead = views[i].overhead + paths[i].overhead;
            if (fixed_weights) {
                views[i].rate   = paths[i].rate;
                views[i].window = sched::window_for(paths[i].rate, limits);
            }
        }
        sched::Choice choice = policy.next(views, demand, limits);
        if (choice) {
            size_t path      = choice.path;
            free_at[path]    = std::max(free_at[path], now) +
                               choice.length / paths[path].rate;
            moved[path]     += choice.length.count();
            demand.remaining = demand.remaining - choice.length;
            meters[path].on_post(now, choice.length);
            flights.push_back({free_at[path] + paths[path].overhead, path,
                               choice.length});
        } else if (flights.empty()) {
            break; /* there is no path at all */
        } else {
            Flight done = next_end(flights);
            now         = std::max(now, done.ends);
            meters[done.path].on_complete(now, done.length);
        }
    }
    return moved;
}

} // namespace fuselink::info
