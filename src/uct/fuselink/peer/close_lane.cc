/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "close_lane.h"

namespace fuselink {
namespace {

/* A connection refused within this time was refused by the peer's host, because
 * nobody listens there any more: an unreachable host takes longer. A NIC without a link
 * refuses at once, too. */
constexpr sched::Nanos kRefusedTime = sched::Nanos::seconds(1);

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
    broke_ = false;
    return now - since_ < kRefusedTime &&
           wireup_.has_link(wireup_.candidates().at(at()));
}

/* The candidate that was tried last. */
size_t CloseLane::at() const
{
    return (wireup_.current() + tried_) % wireup_.candidates().size();
}

bool CloseLane::open(sched::Nanos now)
{
    const Candidates &candidates = wireup_.candidates();
    while (ep_ == nullptr) {
        if (tried_ == candidates.size()) {
            return false;
        }
        ++tried_;
        const auto &candidate = candidates.at(at());
        since_ = now;
        if (wireup_.has_link(candidate)) {
            endpoints_.create(candidate.rail->hello(), candidate.remote, ep_);
        }
    }
    return true;
}

void CloseLane::leave()
{
    close();
    if (tried_ >= wireup_.candidates().size()) {
        tried_ = 0;
    }
}

void CloseLane::close()
{
    if (ep_ != nullptr) {
        endpoints_.destroy(ep_);
        ep_ = nullptr;
    }
}

} // namespace fuselink
