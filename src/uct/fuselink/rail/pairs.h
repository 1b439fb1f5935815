/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_RAIL_PAIRS_H
#define FUSELINK_RAIL_PAIRS_H

#include "rail.h"

#include <memory>
#include <vector>

namespace fuselink {

/** One of our rails and one of a peer's, in the peer's table. */
struct RailPair {
    Rail                   *own;
    const wire::RailRecord *remote;
};

/**
 * Where every NIC reaches every other (RDMA), each is paired with the one at its
 * own place in the order, over and over on the side that has fewer. The other
 * pairs would add connections and no wire. Both sides find the same pairs.
 *
 * Rails that are routed by IP have no part in it. The pairs refer to both
 * arguments.
 */
std::vector<RailPair>
pair_rails(const std::vector<std::unique_ptr<Rail>> &rails,
           const std::vector<wire::RailRecord> &remotes);

} // namespace fuselink

#endif
