/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TRANSFER_PATH_ROOM_H
#define FUSELINK_TRANSFER_PATH_ROOM_H

#include "../conn/connection.h"
#include "../ucx.h"
#include "path.h"
#include "pump.h"

namespace fuselink {

class PathSet;

/**
 * Paths whose rail has no room: it is told to call back when it has, by UCT's
 * pending queue, or is looked at again from progress where it does not promise to.
 *
 * Invariant: a path that is blocked has its hook on the pending queue, or `retry`
 * set, for which the connection's progress is asked.
 *
 * One thread at a time (the worker's).
 */
class PathRoom {
public:
    /** Has what goes over paths in order. */
    class Sender {
    public:
        /** Sends what waited for the path to have room. False if it has no
         *  more. */
        virtual bool send_waiting(Path &path) = 0;

    protected:
        ~Sender() = default;
    };

    /** All outlive this. */
    PathRoom(Connection &connection, Sender &sender, Pump &pump)
        : connection_(connection), sender_(sender), pump_(pump)
    {
    }
    PathRoom(const PathRoom &)            = delete;
    PathRoom &operator=(const PathRoom &) = delete;

    /** The rail said that it has no room for the path. */
    void block(Path &path);
    /** Nothing is given to the path before it is connected, if its rail tells. */
    void await_connection(Path &path);

    /** The rail has nothing left of what the path was given. If it has, the path counts as
     *  full until then. */
    bool is_through(Path &path);

    /** Some path is to be looked at from progress. */
    bool retries() const { return retry_; }
    void retry(PathSet &paths);

private:
    bool add_hook(Path &path);

    static ucs_status_t on_hook(uct_pending_req_t *req);

    Connection &connection_;
    Sender     &sender_;
    Pump       &pump_;
    bool        retry_ = false; /* some path does */
};

} // namespace fuselink

#endif
