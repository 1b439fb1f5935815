/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_PEER_CLOSE_LANE_H
#define FUSELINK_PEER_CLOSE_LANE_H

#include "../conn/endpoints.h"
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
    CloseLane(Endpoints &endpoints, const Wireup &wireup)
        : endpoints_(endpoints), wireup_(wireup)
    {
    }
    CloseLane(const CloseLane &)            = delete;
    CloseLane &operator=(const CloseLane &) = delete;

    /** Null: there is none. */
    uct_ep_h ep() const { return ep_; }

    /** An endpoint broke. False if it is not this one. */
    bool on_error(uct_ep_h ep);
    /** Destroys an endpoint that broke. True if that was so soon that nobody
     *  listens there any more. From progress. */
    bool sweep(sched::Nanos now);
    /** Sees to it that there is one. False if no candidate is left. From
     *  progress. */
    bool open(sched::Nanos now);
    /** Destroys one that is silent. The next may be any, those that were tried as
     *  well. */
    void leave();
    void close();

private:
    size_t at() const;

    Endpoints    &endpoints_;
    const Wireup &wireup_;
    uct_ep_h      ep_    = nullptr;
    bool          broke_ = false;
    size_t        tried_ = 0; /* candidates */
    sched::Nanos  since_;     /* the endpoint was begun */
};

} // namespace fuselink

#endif
