/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "close_lane.h"

namespace fuselink {
namespace {

/* A connection refused within this time was refused by the peer's host, because
 * nobody listens there any more: an unreachable host takes longer. A NIC without a link
 * refuses at once, too. */
constexpr sched::Nanos kRefusedTime = sched::Nanos::seconds(1);
/* Between tries. */
constexpr sched::Nanos kPause = sched::Nanos::millis(10);

} // namespace

bool CloseLane::on_error(uct_ep_h ep)
{
    if (ep != ep_) {
        return false;
    }
    broke_ = true;
    return true;
}

bool CloseLane::sweep(sched::Nanos now)
{
    if (!broke_) {
        return false;
    }
    close();
    return now - since_ < kRefusedTime && had_link_ &&
           wireup_.has_link(wireup_.candidates().at(at_));
}

void CloseLane::open(sched::Nanos now)
{
    if (ep_ != nullptr || (since_ != sched::Nanos() && now - since_ < kPause)) {
        return;
    }
    const Candidates &candidates = wireup_.candidates();
    for (size_t i = 0; i < candidates.size() && ep_ == nullptr; ++i) {
        at_ = (wireup_.current() + ++tries_) % candidates.size();
        const auto &candidate = candidates.at(at_);
        if (candidate.rail->carrier) {
            since_    = now;
            had_link_ = wireup_.has_link(candidate);
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
    broke_ = false;
}

} // namespace fuselink
