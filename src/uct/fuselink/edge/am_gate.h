/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_EDGE_AM_GATE_H
#define FUSELINK_EDGE_AM_GATE_H

#include "../ucx.h"

namespace fuselink {

/**
 * Keeps messages of a LocalEp back after a fence inside the bulk lane's own
 * callbacks, where nothing can wait for the bulk data.
 *
 * While it is closed the message lane's place is taken by an endpoint that
 * refuses everything as if it had no room. So the way of a message is the same
 * as without fences. One thread at a time (the worker's).
 */
class AmGate {
public:
    AmGate() { ucs_queue_head_init(&waiting_); }

    /** `lane` is where messages go from now on, see closed_lane(). */
    void close(uct_ep_h &lane)
    {
        lane    = closed_lane();
        closed_ = true;
    }
    bool closed() const { return closed_; }

    /** A request that waits for it to open. */
    void add(uct_pending_req_t *req)
    {
        uct_pending_req_queue_push(&waiting_, req);
    }
    void purge(uct_pending_purge_callback_t cb, void *arg);

    /** Opens; `real` is the message lane. */
    void open(uct_ep_h &lane, uct_ep_h real);

private:
    static uct_ep_h closed_lane();

    bool             closed_ = false;
    ucs_queue_head_t waiting_;
};

} // namespace fuselink

#endif
