/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_CONN_PEER_REGISTRY_H
#define FUSELINK_CONN_PEER_REGISTRY_H

#include "connection.h"

namespace fuselink {

/** What one connection asks of the others of its interface.
 *
 *  One thread at a time (the worker's). */
class PeerRegistry {
public:
    /** The connection that we have given this number; null if it is gone. */
    virtual Connection *find(uint32_t session) const = 0;

protected:
    ~PeerRegistry() = default;
};

} // namespace fuselink

#endif
