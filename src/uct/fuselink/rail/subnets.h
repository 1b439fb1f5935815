/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_RAIL_SUBNETS_H
#define FUSELINK_RAIL_SUBNETS_H

#include "../host/network.h"
#include "rail.h"

#include <vector>

namespace fuselink {

/**
 * Leaves out ports that the kernel would never send through.
 *
 * Of several ports in one subnet the kernel routes everything through one,
 * whatever address the connection comes from. UCX's tcp before 1.18 does not
 * even bind that address. Such ports look like rails and carry nothing; each
 * is named in one warning line.
 */
std::vector<RailCandidate>
without_shared_subnets(Network                          &network,
                       const std::vector<RailCandidate> &candidates,
                       LeftOuts &left_out);

/** The same of one of them alone. False: it is to be left out, and was named. */
bool has_own_subnet(Network &network, const RailCandidate &candidate,
                    const std::vector<RailCandidate> &candidates, LeftOuts &left_out);

} // namespace fuselink

#endif
