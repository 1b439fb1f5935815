/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_PEER_TEARDOWN_H
#define FUSELINK_PEER_TEARDOWN_H

#include "../conn/connection.h"
#include "../conn/control_channel.h"
#include "../conn/endpoints.h"
#include "../conn/lane_ops.h"
#include "../conn/order_tracker.h"
#include "../conn/pending_queue.h"
#include "../host/host.h"
#include "../rma/open_gets.h"
#include "../transfer/bulk.h"
#include "../ucx.h"
#include "../wire/messages.h"
#include "../wireup/wireup.h"
#include "close_lane.h"

namespace fuselink {

/**
 * How a connection that has failed ends.
 *
 * Whichever side finds it broken tells the other, which then fails as well, and
 * both end it in the same way: what was not sent yet is dropped, what is on its
 * way to the other's memory as the answer to a get is let arrive, and then the
 * other side is told that nothing more will come. Only that ends its gets: the
 * memory of a get that has ended belongs to the user again.
 *
 *     begin()            says why it has failed; times
 *     (the owner drops what was not sent)
 *     tell()             users hear of it
 *     advance()          until it is over
 *
 * One thread at a time (the worker's).
 */
class Teardown {
public:
    /** What is referred to outlives this. Users hear by `iface`. */
    Teardown(Connection &conn, Endpoints &endpoints, ControlChannel &channel,
             Wireup &wireup, PendingQueue &pending, OrderTracker &order,
             LaneOps &ops, OpenGets &gets, BulkSender &bulk, Host &host,
             uct_base_iface_t &iface);
    Teardown(const Teardown &)            = delete;
    Teardown &operator=(const Teardown &) = delete;

    /* What happens, in any order. */

    /** The peer itself has given the connection up. */
    void on_given_up() { theirs_.left = must_tell_ = true; }
    /** The peer has not heard of it, and has another lane. */
    void say_again();
    /** A wire::Goodbye, untrusted. */
    void on_goodbye(const wire::ControlHeader &header, const void *data,
                    size_t length);
    /** An endpoint broke: the one for the last words; false if it is not. */
    bool on_lane_error(uct_ep_h ep);
    /** The lane of messages broke, and there is no other. */
    void on_channel_broken(ucs_status_t status);

    /* In this order, from progress. */

    bool begun() const { return begun_; }
    void begin();
    void tell();
    /** True when the endpoints may be closed: nothing is under way. */
    bool advance();
    /** Destroys the endpoint for the last words; the lane is to be next. */
    void close();

    /* The interface closes. In this order. */

    /** With a connection that had not failed before: the peer is to hear of it. */
    void begin_closing();
    /** True when the peer's word is on its way, or cannot be; there is nothing to
     *  say either if begin_closing() was not called. */
    bool say_closed();
    /** The same for another try: looks at the lane first. */
    bool say_closed_again();
    /** Nothing is said any more. */
    void abandon();
    bool abandoned() const { return abandoned_; }
    /** The peer knows that the connection is over. */
    bool peer_left() const { return theirs_.left; }
    /** The peer is known to write nothing here any more. */
    bool peer_stopped() const { return theirs_.stopped || theirs_.gone; }

private:
    /* What the peer says, or is known of it. */
    struct Theirs {
        bool left    = false; /* it has said goodbye */
        bool stopped = false; /* it puts nothing here any more */
        bool gone    = false; /* nobody listens there */
        bool broken  = false; /* its path broke with bytes in it */
        bool closed  = false; /* it has closed its interface */
    };
    struct ChannelFailure { /* if that was why */
        bool         broken = false;
        ucs_status_t status = UCS_OK;
    };
    struct Goodbye { /* ours */
        bool         said         = false;
        bool         said_stopped = false;
        sched::Nanos since; /* it was said, or is tried to be, on this lane */
    };
    struct Silence { /* since bytes came last */
        sched::Nanos since;
        uint64_t     landings = 0;
    };

    void     note_open();
    void     say_why();
    void     tell_users();
    bool     take_leave();
    bool     is_silent(uct_ep_h ep) const;
    void     leave_if_silent(uct_ep_h ep);
    void     unsay();
    bool     say_goodbye(bool stopped);
    bool     send_goodbye(uct_ep_h ep, int flags);
    uct_ep_h lane(sched::Nanos now);
    bool     gets_over(sched::Nanos now);

    Connection       &conn_;
    Endpoints        &endpoints_;
    ControlChannel   &channel_;
    Wireup           &wireup_;
    PendingQueue     &pending_;
    OrderTracker     &order_;
    LaneOps          &ops_;
    OpenGets         &gets_;
    BulkSender       &bulk_;
    Host             &host_;
    uct_base_iface_t &iface_;
    CloseLane         close_lane_;
    ChannelFailure    channel_failure_;
    Theirs            theirs_;
    Goodbye           goodbye_;
    Silence           silence_;
    bool              begun_     = false;
    bool              closing_   = false; /* with the interface: the peer is to hear */
    bool              left_      = false; /* the lane, which is silent */
    bool              abandoned_ = false; /* with the interface */
    bool              must_tell_ = false; /* the other side may wait for us */
    bool              had_open_  = false; /* operations, when it failed */
    sched::Nanos      until_; /* then it ends, come what may */
    bool              asked_ = false; /* the peer believed in it, while it ended */
};

} // namespace fuselink

#endif
