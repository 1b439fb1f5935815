/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_WIREUP_WIREUP_H
#define FUSELINK_WIREUP_WIREUP_H

#include "../conn/connection.h"
#include "../conn/control_channel.h"
#include "../conn/endpoints.h"
#include "../conn/order_tracker.h"
#include "../host/host.h"
#include "../rail/rails.h"
#include "../transfer/bulk.h"
#include "../ucx.h"
#include "../wire/address.h"
#include "../wire/messages.h"
#include "candidates.h"
#include "connect_timer.h"
#include "fallback_eps.h"
#include "message_lane.h"

#include <cstdint>
#include <vector>

namespace fuselink {

/**
 * How a connection comes about: the endpoint on which the hello goes, another
 * one if that does not connect, the exchange of rail tables, and then the lane on
 * which messages go.
 *
 * Nothing is done inside a rail's callback that could pull the ground from under
 * it: that waits for run_deferred(). One thread at a time (the worker's).
 */
class Wireup final : private ConnectTimer::Client {
public:
    /** What is referred to outlives this. The owner of the endpoints, who hears
     *  when one breaks, asks on_hello_error() and on_error() then. */
    Wireup(Connection &conn, Endpoints &endpoints, ControlChannel &channel,
           OrderTracker &order, BulkSender &bulk, Rails &rails, Host &host,
           ConnectTimer &timer);
    ~Wireup() { timer_.forget(*this); }

    /** Opens the lane of messages on a rail that both sides have, and says hello
     *  on it. Fails with one line if there is none. With `later`, or from
     *  inside a rail's callback, it only notes the address, and progress does
     *  the rest: tcp takes over the connection on which the message came that
     *  it is just handing out. */
    ucs_status_t connect(const wire::RailTable &address, bool later = false);

    void on_hello(const wire::Hello &hello, const wire::RailTable &table);
    void on_lane_step(const wire::RailAddr       &message,
                      const std::vector<uint8_t> &address)
    {
        lane_.on_step(message, address);
    }
    /** The lane has taken a message. */
    void on_first_taken();

    /** An endpoint broke. True if it is the one of the hello, which it did not
     *  take: there will be another. */
    bool on_hello_error(uct_ep_h ep);
    /** True if it is another one that no messages go on. */
    bool on_error(uct_ep_h ep);

    /** Does what could not be done at once. From progress. */
    void run_deferred();

    /** Destroys all endpoints. */
    void close();

    /** The peer's number for the connection; 0: it has not said hello. */
    uint32_t peer_session() const { return peer_session_; }
    /** No rail carries bulk data: the connection fails when it is told. */
    bool     no_paths() const { return no_paths_; }
    /** True if the peer's messages to us come over the same connection as ours
     *  to it, where a rail has one for both directions. */
    bool     shares_lane() const;

    const Candidates &candidates() const { return candidates_; }
    /** The candidate that is in use. */
    size_t            current() const { return current_; }

private:
    bool is_unanswered() const override
    {
        return !conn_.failed() && !channel_.taken() && !broke_ &&
               ep_ != nullptr;
    }
    void try_another() override;

    ucs_status_t connect_now();
    void         use(uct_ep_h ep);
    void         leave();
    void         next();
    void         fall_back();
    void         learn(const wire::Hello &hello, const wire::RailTable &table);
    void         say_hello();
    void         name_silent();

    Connection     &conn_;
    Endpoints      &endpoints_;
    ControlChannel &channel_;
    OrderTracker   &order_;
    BulkSender     &bulk_;
    Rails          &rails_;
    const Host     &host_;
    ConnectTimer   &timer_;
    Candidates      candidates_;
    size_t          current_ = 0;
    uct_ep_h        ep_      = nullptr; /* on which the hello goes, or went */
    sched::Nanos    since_;             /* it was begun */
    bool            broke_   = false;   /* and will not take the hello */
    FallbackEps     fallbacks_;
    MessageLane     lane_;
    bool            table_known_  = false; /* the peer's */
    bool            no_paths_     = false;
    uint32_t        peer_session_ = 0;
    /* Over which the peer's hello came. */
    uint8_t         hello_own_    = 0; /* our rail */
    uint8_t         hello_remote_ = 0; /* its own */
};

} // namespace fuselink

#endif
