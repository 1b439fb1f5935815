/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_CONN_PENDING_QUEUE_H
#define FUSELINK_CONN_PENDING_QUEUE_H

#include "../ucx.h"
#include "connection.h"
#include "control_channel.h"
#include "order_tracker.h"
#include "user.h"

#include <vector>

namespace fuselink {

/**
 * The users of one connection, which of their operations may begin now, and their
 * requests that wait until some may: a queue for each user, served in turn.
 *
 * Requests call back, and may destroy the user that they are of, and others.
 *
 * One thread at a time (the worker's).
 */
class PendingQueue {
public:
    PendingQueue(Connection &conn, ControlChannel &channel, OrderTracker &order)
        : conn_(conn), channel_(channel), order_(order)
    {
    }
    PendingQueue(const PendingQueue &)            = delete;
    PendingQueue &operator=(const PendingQueue &) = delete;

    void attach(PeerUser &user);
    /** Its requests are not called any more. */
    void detach(PeerUser &user);
    bool has(const PeerUser &user) const;
    const std::vector<PeerUser *> &users() const { return users_; }

    /** Whether an operation of a user may begin: UCS_OK, UCS_ERR_NO_RESOURCE, or
     *  how the connection has failed. */
    ucs_status_t admission();

    /* UCT's contract. */
    ucs_status_t add(PeerUser &user, uct_pending_req_t *req);
    void purge(PeerUser &user, uct_pending_purge_callback_t cb, void *arg);

    /** Calls what waits, as far as it may begin. */
    void dispatch();
    /** What the program begins now, a request begins that has waited here. */
    bool in_request() const { return conn_.calls().in_request_of(conn_); }

    /** A fence: what waits is before it. */
    void note_fence();
    /** See OrderTracker::end_strict(). From progress. */
    void end_strict();

private:
    void end_rest();
    void note_queued();

    Connection             &conn_;
    ControlChannel         &channel_;
    OrderTracker           &order_;
    std::vector<PeerUser *> users_;
    bool                    dispatching_ = false;
};

} // namespace fuselink

#endif
