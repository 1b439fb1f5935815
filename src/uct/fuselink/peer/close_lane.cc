/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "close_lane.h"

#include <algorithm>

namespace fuselink {
namespace {

/* Between two tries of the first turn. Twice as long in each further one: UCX prints a
 * line for each that fails. */
constexpr sched::Nanos kPause     = sched::Nanos::millis(10);
constexpr size_t       kMostTurns = 7;

} // namespace

bool CloseLane::on_error(uct_ep_h ep)
{
    if (ep != ep_) {
        return false;
    }
    if (ep != nullptr) { /* else what was begun on the lane ends, which is closed */
        StreamState state;
        broke_   = true;
        refused_ = streams_.look(ep, state) && state.refused();
    }
    return true;
}

bool CloseLane::sweep()
{
    const bool refused = refused_;
    if (broke_) {
        close();
    }
    return refused;
}

void CloseLane::open(sched::Nanos now)
{
    const Candidates &candidates = wireup_.candidates();
    if (ep_ != nullptr || now < again_ || candidates.empty()) {
        return;
    }
    again_ = now + kPause * (int64_t{1} << std::min(tries_ / candidates.size(),
                                                    kMostTurns));
    for (size_t i = 0; i < candidates.size() && ep_ == nullptr; ++i) {
        const auto &candidate =
            candidates.at((wireup_.current() + ++tries_) % candidates.size());
        if (candidate.rail->carrier) {
            endpoints_.create(candidate.rail->hello(), candidate.remote, ep_);
        }
    }
}

void CloseLane::close()
{
    if (ep_ != nullptr) {
        endpoints_.destroy(ep_);
        ep_ = nullptr;
    }
    broke_ = refused_ = false;
}

} // namespace fuselink
