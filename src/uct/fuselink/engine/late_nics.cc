/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "late_nics.h"

#include <algorithm>

namespace fuselink {
namespace {

bool has(const std::vector<int> &all, int ifindex)
{
    return std::find(all.begin(), all.end(), ifindex) != all.end();
}

} // namespace

void LateNics::note(const std::vector<int> &ready, sched::Nanos now)
{
    std::erase_if(looks_, [&](const Look &look) { return !has(ready, look.ifindex); });
    for (int ifindex : ready) {
        if (!has(ready_, ifindex)) {
            looks_.push_back({ifindex, now + kSettles, kAgain, kLooks});
        }
    }
    ready_ = ready;
}

int LateNics::take_due(sched::Nanos now)
{
    auto look = std::find_if(looks_.begin(), looks_.end(),
                             [&](const Look &one) { return now >= one.at; });
    if (look == looks_.end()) {
        return 0;
    }
    const int ifindex = look->ifindex;
    look->at          = now + look->pause;
    look->pause       = look->pause * 4;
    if (--look->left == 0) {
        looks_.erase(look);
    }
    return ifindex;
}

void LateNics::settle(int ifindex)
{
    std::erase_if(looks_, [&](const Look &look) { return look.ifindex == ifindex; });
}

} // namespace fuselink
