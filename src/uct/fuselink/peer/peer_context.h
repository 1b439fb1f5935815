/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_PEER_PEER_CONTEXT_H
#define FUSELINK_PEER_PEER_CONTEXT_H

#include "../conn/message_log.h"
#include "../conn/peer_registry.h"
#include "../conn/seen_timer.h"
#include "../conn/user_calls.h"
#include "../host/host.h"
#include "../load/load_view.h"
#include "../memory/region.h"
#include "../memory/region_table.h"
#include "../rail/lanes.h"
#include "../rail/poller.h"
#include "../rail/rails.h"
#include "../relay/gpu_copies.h"
#include "../rma/get_table.h"
#include "../transfer/bulk_context.h"
#include "../ucx.h"
#include "../wireup/connect_timer.h"
#include "message_paths.h"

namespace fuselink {

class Peer;

/** Calls Peer::run_deferred() from progress, and looks at those that do not rest. */
class DeferredPeers {
public:
    /** Once, however often this is called until then. */
    virtual void defer(Peer &peer) = 0;
    /** It has rested. */
    virtual void rouse(Peer &peer) = 0;

protected:
    ~DeferredPeers() = default;
};

/** Settings of the user that are for connections. */
struct PeerSettings {
    size_t   inline_get; /* bytes: a get up to here is answered by messages */
    unsigned max_qps;    /* queue pairs on one rail */
    MessagePaths::Use messages; /* of several NICs */
};

/** What a connection uses of its interface, all of which outlives it. Only
 *  Peer's constructor looks in here: it hands each part what that part uses. */
struct PeerContext {
    Host             &host;
    uct_base_iface_t &iface; /* whose error handler is told */
    Rails            &rails;
    Lanes            &lanes;
    Poller           &poller;
    RegionTable      &regions;
    NicMemory        &nics;
    GpuCopies        &copies;
    NearPools        &near;
    LoadView         &loads;
    GetTable         &gets;
    ConnectTimer     &connect_timer;
    MessageMemory    &messages;
    SeenTimer        &seen_timer;
    UserCalls        &calls;
    BulkContext       bulk;
    PeerRegistry     &registry;
    DeferredPeers    &deferred;
    PeerSettings      settings;
};

} // namespace fuselink

#endif
