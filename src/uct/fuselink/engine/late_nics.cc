/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "late_nics.h"

#include <algorithm>

namespace fuselink {

void LateNics::note(const std::vector<int> &ready, sched::Nanos now)
{
    const size_t had = known_.size();
    for (int ifindex : ready) {
        auto at = std::lower_bound(known_.begin(), known_.end(), ifindex);
        if (at == known_.end() || *at != ifindex) {
            known_.insert(at, ifindex);
        }
    }
    if (known_.size() != had) {
        looks_ = kLooks;
        at_    = now + kSettles;
        pause_ = kAgain;
    }
}

bool LateNics::take_due(sched::Nanos now)
{
    if (looks_ == 0 || now < at_) {
        return false;
    }
    --looks_;
    at_    = now + pause_;
    pause_ = pause_ * 4;
    return true;
}

} // namespace fuselink
