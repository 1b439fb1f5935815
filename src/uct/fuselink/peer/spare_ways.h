/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_PEER_SPARE_WAYS_H
#define FUSELINK_PEER_SPARE_WAYS_H

#include "../sched/units.h"
#include "../ucx.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace fuselink {

class Peer;

/**
 * Connections for hellos to a peer that did not come about in time, so that
 * another way was tried. They go on trying: the peer may just have been slow,
 * and then answers all of them. The first that comes about is taken. The idea is
 * that of RFC 8305 (Happy Eyeballs).
 *
 * None that still tries is destroyed before the peer is: the other side of UCX's
 * datagrams would answer to an endpoint that is no more, and use that for what it
 * has to say.
 *
 * One thread at a time (the worker's).
 */
class SpareWays {
public:
    /** A connection, and which of the peer's ways it is. */
    struct Way {
        size_t     index;
        uct_ep_h   ep;
        sched::Nanos since; /* when it was begun */
    };

    explicit SpareWays(Peer &peer) : peer_(peer) {}
    ~SpareWays() { close(); }
    SpareWays(const SpareWays &)            = delete;
    SpareWays &operator=(const SpareWays &) = delete;

    /** Takes over a connection that nothing was sent on. What waits there for
     *  room is forgotten. Engine::defer() tells when it comes about. */
    void keep(const Way &way);

    /** One that has come about; the caller's from now on. */
    std::optional<Way> take();

    /** The rail reports that an endpoint is broken. False if it is none of
     *  these. */
    bool on_error(uct_ep_h ep);

    /** Destroys those that broke. Not from a rail's callback. */
    void sweep();

    bool empty() const { return spares_.empty(); }

    /** Calls `fn` for each that has not come about. */
    void for_each_silent(const std::function<void(const Way &)> &fn) const;

    /** Destroys all. */
    void close();

private:
    enum class State { Silent, Connected, Broken };

    struct Spare {
        uct_pending_req_t req; /* first: UCX gives back a pointer to it */
        Peer             *peer;
        Way               way;
        State             state;
    };

    static ucs_status_t on_room(uct_pending_req_t *req);

    Peer                                &peer_;
    std::vector<std::unique_ptr<Spare>>  spares_;
};

} // namespace fuselink

#endif
