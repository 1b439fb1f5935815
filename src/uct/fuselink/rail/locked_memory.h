/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_RAIL_LOCKED_MEMORY_H
#define FUSELINK_RAIL_LOCKED_MEMORY_H

#include "../host/host.h"
#include "uct_objects.h"

namespace fuselink {

/** What the queues of an RDMA port take, bytes, when `rails` ports share the
 *  messages of a process (Rail::open() divides UCX's own settings). All of it is
 *  locked in memory. */
constexpr size_t queue_memory(size_t rails)
{
    /* Measured with UCX 1.13: 76 MB alone, 17 each of four. */
    constexpr size_t kAlone = 80 << 20, kLeast = 20 << 20;
    return rails > kAlone / kLeast ? kLeast :
                                     kAlone / (rails != 0 ? rails : 1);
}

/** True if the process may still lock so many bytes for a NIC. UCX does not
 *  ask: an interface opens with queues that are empty, then complains of each
 *  buffer, thousands of times. */
bool can_lock(Host &host, const UctMd &md, size_t bytes);

} // namespace fuselink

#endif
