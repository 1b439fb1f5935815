/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_EDGE_INTERNAL_OPS_H
#define FUSELINK_EDGE_INTERNAL_OPS_H

#include "../ucx.h"

namespace fuselink {

/** A table of the operations that UCT keeps out of its public API, with what
 *  all devices have in common. It differs in almost every minor version of
 *  UCX; internal_ops.cc is where those differences stay. */
uct_iface_internal_ops_t internal_ops_table();

/** Replaces the bandwidth in an estimate, in every field that has it. */
void set_bandwidth(uct_perf_attr_t *attr, double bytes_per_second);

/** Capability of an interface that leaves the node, in the versions of UCX
 *  that have a flag for it. */
extern const uint64_t kInterNodeFlag;

} // namespace fuselink

#endif
