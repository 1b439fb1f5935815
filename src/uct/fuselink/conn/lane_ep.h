/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_CONN_LANE_EP_H
#define FUSELINK_CONN_LANE_EP_H

#include "../rail/rail.h"
#include "../ucx.h"

#include <cstddef>
#include <cstdint>

namespace fuselink {

/**
 * The endpoint on which the messages to a peer go now, if there is one: of which rail, what
 * it takes, and our place on the queue of those who wait for room there.
 *
 * The endpoint is its owner's, who outlives nothing of this. One thread at a time (the
 * worker's).
 */
class LaneEp {
public:
    /** What one message may have, bytes; see uct_iface_attr_t. */
    struct Limits {
        size_t am_short;
        size_t am_bcopy;
    };

    static Limits limits_of(const UctIface &iface)
    {
        const auto &attr = iface.attr();
        return {attr.cap.flags & UCT_IFACE_FLAG_AM_SHORT ?
                    attr.cap.am.max_short : 0,
                attr.cap.am.max_bcopy};
    }

    /** Who waits for room. From the rail's progress; may wait() anew. */
    class Waiter {
    public:
        virtual void on_lane_room() = 0;

    protected:
        ~Waiter() = default;
    };

    explicit LaneEp(Waiter &waiter);
    ~LaneEp() { count_on(nullptr); }
    LaneEp(const LaneEp &)            = delete;
    LaneEp &operator=(const LaneEp &) = delete;

    /* Null if there is none; the rail and what belongs to it are the last one's then. */
    uct_ep_h      handle() const { return ep_; }
    Rail         *rail() const { return rail_; }
    /** The peer's rail. */
    uint8_t       remote() const { return remote_; }
    const Limits &limits() const { return limits_; }

    void use(uct_ep_h ep, Rail &rail, uint8_t remote, const Limits &limits);
    /** What waits there is forgotten: it goes on, and is not the lane any more. */
    void stop_waiting();
    /** It is none any more. */
    void close();

    /** The waiter is on the queue. */
    bool waits() const { return hook_.queued; }
    /** False if nothing will tell: the endpoint is free, but what it needs to send
     *  (buffers of the whole rail) is not. */
    bool wait();
    /** Of a stream: the kernel has all that was sent. If not, the waiter hears of it. */
    bool is_through();

private:
    struct Hook { /* our request on the endpoint's pending queue */
        uct_pending_req_t req; /* first: UCX gives back a pointer to it */
        Waiter           *waiter;
        bool              queued  = false;
        bool              running = false; /* inside on_hook() */
    };

    void count_on(Rail *rail);

    static ucs_status_t on_hook(uct_pending_req_t *req);

    uct_ep_h ep_      = nullptr;
    Rail    *rail_    = nullptr;
    Rail    *counted_ = nullptr; /* where people are told of it */
    Limits   limits_{};
    uint8_t  remote_ = 0;
    Hook     hook_{};
};

} // namespace fuselink

#endif
