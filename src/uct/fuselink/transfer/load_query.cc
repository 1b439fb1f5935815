/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "load_query.h"

#include <algorithm>

namespace fuselink {
namespace {

/* How often a peer is asked. */
constexpr sched::Nanos kAsk = sched::Nanos::millis(5);

uint32_t kilobytes(double bytes)
{
    return static_cast<uint32_t>(std::min(bytes / 1024, double(UINT32_MAX)));
}

} // namespace

void LoadQuery::ask(size_t backlog, sched::Nanos now)
{
    double loads[wire::kLoads] = {}, rates[sched::max_paths] = {}, sum = 0;
    size_t i = 0;
    /* What another process of ours has taken will not bring it. */
    const auto will_bring = [&](const Path &path) {
        return paths_.in_play(path) &&
               path.rail.nic.standing() != sched::PathView::Standing::Taken;
    };
    const bool any = std::any_of(paths_.begin(), paths_.end(), [&](const auto &path) {
        return will_bring(*path);
    });
    for (const auto &path : paths_) {
        if (any ? will_bring(*path) : paths_.in_play(*path)) {
            rates[i] = path->full_rate().bytes_per_second();
            sum     += rates[i];
        }
        ++i;
    }
    i = 0;
    for (const auto &path : paths_) {
        if (path->remote.index < wire::kLoads && sum > 0) {
            loads[path->remote.index] +=
                static_cast<double>(path->meter.in_flight().count()) +
                static_cast<double>(backlog) * rates[i] / sum;
        }
        ++i;
    }
    wire::LoadAsk ask{};
    ask.header.type = static_cast<uint8_t>(wire::ControlType::LoadAsk);
    for (i = 0; i < wire::kLoads; ++i) {
        ask.load[i] = kilobytes(loads[i]);
    }
    asked_    = backlog != 0;
    next_ask_ = now + kAsk;
    connection_.send_control(&ask, sizeof(ask));
}

} // namespace fuselink
