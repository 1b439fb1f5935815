/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_SIM_HARNESS_REST_CHECK_H
#define FUSELINK_TEST_SIM_HARNESS_REST_CHECK_H

#include "../fabric/world.h"
#include "edge/rails_iface.h"

#include <string>

namespace fuselink::sim {

/** Connections that rest have nothing under way, and the others are known. `rails` may be
 *  null: there is no interface (any more). */
inline void check_rest(const Process &process, RailsIface *rails)
{
    if (rails == nullptr) {
        return;
    }
    World          &world = process.world();
    const PeerTable &table = rails->engine().peers();
    size_t          active = 0;
    for (const auto &[uuid, peer] : table.peers()) {
        active += !peer->rests();
        world.count(Count::Resting, peer->rests());
        if (peer->rests() && !peer->may_rest()) {
            world.journal().violate("process " + std::to_string(process.index()) +
                                    " looks after no connection that rests, and one "
                                    "does with something under way");
        }
    }
    if (active != table.active().size()) {
        world.journal().violate("process " + std::to_string(process.index()) +
                                " has another number of active connections than it "
                                "looks after");
    }
}

} // namespace fuselink::sim

#endif
