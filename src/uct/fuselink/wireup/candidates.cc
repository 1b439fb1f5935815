/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "candidates.h"

#include "../rail/pairs.h"

#include <tuple>

namespace fuselink {
namespace {

std::tuple<bool, bool, bool> rank(const Rail &rail)
{
    return {rail.standby, rail.traits().routed_by_ip, !rail.near()};
}

} // namespace

void Candidates::add(const wire::RailTable &theirs)
{
    /* Both sides compute the same starting point, so that the two directions
     * share a connection: a stream then carries the acknowledgements of one
     * direction on the data of the other. Different peers start at different
     * rails. A NIC beside this process comes first, connection shared or
     * not. */
    const uint64_t mix   = common_number(rails_.uuid(), peer_);
    const auto    &rails = theirs.rails;
    known_rails_         = rails.size();
    for (bool own_route : {true, false}) {
        for (size_t k = 0; k < rails.size(); ++k) {
            const auto &remote = rails[(mix + k) % rails.size()];
            Rail       *best   = best_own(remote, own_route);
            if (best != nullptr) {
                add(*best, remote);
            }
        }
        auto pairs = pair_rails(rails_.list(), rails);
        for (size_t k = 0; k < pairs.size(); ++k) {
            const RailPair &pair = pairs[(mix + k) % pairs.size()];
            add(*pair.own, *pair.remote);
        }
        if (!empty()) {
            return;
        }
        /* No rail's own route leads there; the kernel may know another. If the
         * peer refuses, then it does so on that as well: only now. */
    }
}

Rail *Candidates::best_own(const wire::RailRecord &remote, bool own_route) const
{
    const Rail::Route route = rails_.route_to(remote, peer_);
    Rail *best = nullptr;
    for (const auto &rail : rails_.list()) {
        bool fits = own_route ? rail->traits().routed_by_ip &&
                                    rail->reaches(remote, route) :
                                !route.astray && rail->speaks_with(remote);
        if (fits && (best == nullptr || rank(*rail) < rank(*best))) {
            best = rail.get();
        }
    }
    return best;
}

void Candidates::add(Rail &rail, const wire::RailRecord &remote)
{
    if (order_.add({.own          = rail.index(),
                    .remote       = remote.index,
                    .standby      = rail.standby,
                    .routed_by_ip = rail.traits().routed_by_ip,
                    .far          = !rail.near(),
                    .by_ep        = rail.by_ep()})) {
        candidates_.push_back({&rail, remote});
    }
}

void Candidates::look_at_wires()
{
    for (size_t i = 0; i < candidates_.size(); ++i) {
        const Candidate &one = candidates_[i];
        order_.set_silent(i, rails_.wires().silent(*one.rail, one.remote));
    }
}

} // namespace fuselink
