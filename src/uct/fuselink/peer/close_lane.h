/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_PEER_CLOSE_LANE_H
#define FUSELINK_PEER_CLOSE_LANE_H

#include "../conn/endpoints.h"
#include "../host/stream_control.h"
#include "../sched/units.h"
#include "../ucx.h"
#include "../wireup/wireup.h"

namespace fuselink {

/**
 * Another endpoint for the last words to a peer, where the lane of messages is
 * broken: candidates of the wireup in turn, the one that is in use last.
 *
 * One thread at a time (the worker's).
 */
class CloseLane {
public:
    CloseLane(Endpoints &endpoints, const Wireup &wireup, StreamControl &streams)
        : endpoints_(endpoints), wireup_(wireup), streams_(streams)
    {
    }
    CloseLane(const CloseLane &)            = delete;
    CloseLane &operator=(const CloseLane &) = delete;

    /** Null: there is none. */
    uct_ep_h ep() const { return ep_; }

    /** An endpoint broke. False if it is not this one. */
    bool on_error(uct_ep_h ep);
    /** Destroys an endpoint that broke. True if the peer's kernel has refused it:
     *  nobody listens there any more. From progress. */
    bool sweep();
    /** Begins one if there is none, and a candidate that can be tried now. Those that
     *  were tried have their turn again: that none connects does not say that nobody
     *  is there. From progress. */
    void open(sched::Nanos now);
    /** Destroys one that is silent. */
    void close();
    /** The peer is there: the next try is not put off. */
    void hurry()
    {
        again_ = {};
        tries_ = 0;
    }

private:
    Endpoints     &endpoints_;
    const Wireup  &wireup_;
    StreamControl &streams_;
    uct_ep_h       ep_      = nullptr;
    bool           broke_   = false;
    bool           refused_ = false; /* that is why */
    size_t         tries_   = 0;
    sched::Nanos   again_;           /* not before */
};

} // namespace fuselink

#endif
