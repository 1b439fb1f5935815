/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_CONN_PEER_REGISTRY_H
#define FUSELINK_CONN_PEER_REGISTRY_H

#include "../sched/units.h"
#include "connection.h"

namespace fuselink {

/** What one connection asks of the others of its interface.
 *
 *  One thread at a time (the worker's). */
class PeerRegistry {
public:
    /** The connection that we have given this number; null if it is gone. */
    virtual Connection *find(uint32_t session) const = 0;

    /** How many peers have something on their way to us. */
    virtual uint32_t senders(sched::Nanos now) const = 0;

    /** What peers have on their way to our rail, but for one of them. */
    virtual sched::Bytes inflow(size_t rail, sched::Nanos now,
                                const Connection *except) const = 0;

protected:
    ~PeerRegistry() = default;
};

} // namespace fuselink

#endif
