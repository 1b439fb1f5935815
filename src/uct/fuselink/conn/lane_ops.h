/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_CONN_LANE_OPS_H
#define FUSELINK_CONN_LANE_OPS_H

#include "../memory/region_table.h"
#include "../pool.h"
#include "../ucx.h"
#include "connection.h"
#include "control_channel.h"
#include "epochs.h"
#include "order_tracker.h"
#include "user.h"

#include <cstddef>

namespace fuselink {

class LaneOps;

/** What a get is to bring, and where to. */
struct LaneGet {
    void                 *buffer; /* or what `unpack` is told */
    uct_unpack_callback_t unpack; /* null: into the buffer */
    size_t                length;
    uint64_t              remote;
    RegionKey             region; /* of the peer */
};

/** A get of the lane's own NIC, which writes to the user's memory. */
struct LaneOp {
    uct_completion_t  comp; /* first: UCX gives back a pointer to it */
    LaneOps          *ops = nullptr;
    PeerUser         *user = nullptr; /* null once it is gone */
    uct_completion_t *user_comp = nullptr; /* may be null */
    LaneOp           *next_free = nullptr;
    bool              live = false;
    bool              lost = false; /* its lane broke */
    bool              forgotten = false; /* its user has gone */
    uint8_t           lane = 0;     /* number */
    Epochs::Id        epoch = 0;
    LaneGet           get{};
};

/**
 * Those of one connection that are under way. If the lane is a queue pair that
 * breaks, they are not over: take_lost() gives them to who asks the peer for the same,
 * when nothing of the lane can write to their memory any more.
 *
 * One thread at a time (the worker's).
 */
class LaneOps {
public:
    LaneOps(Connection &conn, ControlChannel &channel, OrderTracker &order)
        : conn_(conn), channel_(channel), order_(order)
    {
    }
    LaneOps(const LaneOps &)            = delete;
    LaneOps &operator=(const LaneOps &) = delete;

    /** One that is about to be given to the lane, with its `comp`. */
    LaneOp &begin(const LaneGet &get);
    /** For the lane, with the operation as its argument: gives the user what has come. */
    static void unpack(void *op, const void *data, size_t length);
    /** What the lane returned for it: it is under way, or over by now. */
    void settle(LaneOp &op, ucs_status_t status, PeerUser &user,
                uct_completion_t *comp);

    size_t open() const { return open_; }
    /** Some are lost, */
    bool   any_lost() const { return lost_ != 0; }
    /** and this one is, with its user, completion and epoch, no more of this. */
    bool   take_lost(LaneOp &op);
    /** Lost ones of which nobody asks the peer. */
    void   end_lost(ucs_status_t status);

    /** Nobody is told of this user's. */
    void forget(const PeerUser &user);
    /** The rail has forgotten them. */
    void end_all(ucs_status_t status);

private:
    void release(LaneOp &op);
    void end(LaneOp &op, ucs_status_t status);

    static void on_end(uct_completion_t *comp);

    Connection     &conn_;
    ControlChannel &channel_;
    OrderTracker   &order_;
    Pool<LaneOp>    ops_; /* they stay where they are */
    size_t          open_ = 0;
    size_t          lost_ = 0;
};

} // namespace fuselink

#endif
