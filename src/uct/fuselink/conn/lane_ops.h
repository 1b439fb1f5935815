/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_CONN_LANE_OPS_H
#define FUSELINK_CONN_LANE_OPS_H

#include "../pool.h"
#include "../ucx.h"
#include "connection.h"
#include "epochs.h"
#include "order_tracker.h"
#include "user.h"

#include <cstddef>

namespace fuselink {

class LaneOps;

/** A get of the lane's own NIC, which writes to the user's memory. */
struct LaneOp {
    uct_completion_t  comp; /* first: UCX gives back a pointer to it */
    LaneOps          *ops = nullptr;
    PeerUser         *user = nullptr; /* null once it is gone */
    uct_completion_t *user_comp = nullptr; /* may be null */
    LaneOp           *next_free = nullptr;
    bool              live = false;
    Epochs::Id        epoch = 0;
};

/**
 * Those of one connection that are under way.
 *
 * One thread at a time (the worker's).
 */
class LaneOps {
public:
    LaneOps(Connection &conn, OrderTracker &order) : conn_(conn), order_(order)
    {
    }
    LaneOps(const LaneOps &)            = delete;
    LaneOps &operator=(const LaneOps &) = delete;

    /** One that is about to be given to the lane, with its `comp`. */
    LaneOp &begin();
    /** What the lane returned for it: it is under way, or over by now. */
    void settle(LaneOp &op, ucs_status_t status, PeerUser &user,
                uct_completion_t *comp);

    size_t open() const { return open_; }

    /** Nobody is told of this user's. */
    void forget(const PeerUser &user);
    /** The rail has forgotten them. */
    void end_all(ucs_status_t status);

private:
    void end(LaneOp &op);

    static void on_end(uct_completion_t *comp);

    Connection   &conn_;
    OrderTracker &order_;
    Pool<LaneOp>  ops_; /* they stay where they are */
    size_t        open_ = 0;
};

} // namespace fuselink

#endif
