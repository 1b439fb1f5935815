/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_WIREUP_FALLBACK_EPS_H
#define FUSELINK_WIREUP_FALLBACK_EPS_H

#include "../conn/connection.h"
#include "../conn/endpoints.h"
#include "../sched/units.h"
#include "../ucx.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace fuselink {

/**
 * Endpoints for hellos to a peer that did not connect in time, so that another
 * candidate was tried. They go on trying: the peer may just have been slow, and
 * then answers all of them. The first that connects is taken. The idea is that of
 * RFC 8305 (Happy Eyeballs).
 *
 * None that still tries is destroyed before the connection is: the other side of
 * UCX's datagrams would answer to an endpoint that is no more, and use that for
 * what it has to say.
 *
 * One thread at a time (the worker's).
 */
class FallbackEps {
public:
    /** An endpoint, and which of the candidates it is for. */
    struct Fallback {
        size_t       candidate;
        uct_ep_h     ep;
        sched::Nanos since; /* when it was begun */
    };

    FallbackEps(Connection &conn, Endpoints &endpoints)
        : conn_(conn), endpoints_(endpoints)
    {
    }
    ~FallbackEps() { close(); }
    FallbackEps(const FallbackEps &)            = delete;
    FallbackEps &operator=(const FallbackEps &) = delete;

    /** Takes over an endpoint that nothing was sent on. What waits there for
     *  room is forgotten. Connection::defer() tells when it has connected. */
    void keep(const Fallback &fallback);

    /** One that has connected; the caller's from now on. */
    std::optional<Fallback> take();

    /** The rail reports that an endpoint is broken. False if it is none of
     *  these. */
    bool on_error(uct_ep_h ep);

    /** Destroys those that broke. Not from a rail's callback. */
    void sweep();

    bool empty() const { return entries_.empty(); }

    /** Calls `fn` for each that has not connected. */
    void
    for_each_silent(const std::function<void(const Fallback &)> &fn) const;

    /** Destroys those that `fn` takes. Not from a rail's callback. */
    void close_if(const std::function<bool(const Fallback &)> &fn);
    bool has(size_t candidate) const;
    /** Destroys all. */
    void close();

private:
    enum class State { Silent, Connected, Broken };

    struct Entry {
        uct_pending_req_t req; /* first: UCX gives back a pointer to it */
        Connection       *conn;
        Fallback          fallback;
        State             state;
    };

    static ucs_status_t on_room(uct_pending_req_t *req);

    Connection                         &conn_;
    Endpoints                          &endpoints_;
    std::vector<std::unique_ptr<Entry>> entries_;
};

} // namespace fuselink

#endif
