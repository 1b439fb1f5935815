/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_RAIL_LOCKED_MEMORY_H
#define FUSELINK_RAIL_LOCKED_MEMORY_H

#include "lower.h"

namespace fuselink {

/** What the receive queues of an RDMA port take at UCX's own settings, bytes.
 *  All of it is locked in memory. */
constexpr size_t kQueueMemory = 64 << 20;

/** True if the process may still lock kQueueMemory for a NIC. UCX does not
 *  ask: an interface opens with queues that are empty, then complains of each
 *  buffer, thousands of times. */
bool can_lock_queues(const LowerMd &md);

/** The limit of locked memory (ulimit -l) as text. */
std::string locked_memory_limit();

} // namespace fuselink

#endif
