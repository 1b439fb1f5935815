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
#include "first_contact.h"
#include "lane_search.h"
#include "message_lane.h"

#include <cstdint>
#include <optional>
#include <utility>
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
    /** Only so much is learned from it as an answer needs. */
    void on_rejected(uint32_t peer_session, const wire::RailTable &table)
    {
        heard_.session = peer_session;
        candidates_.add(table);
    }
    void on_lane_step(const wire::RailAddr       &message,
                      const std::vector<uint8_t> &address)
    {
        lane_.on_step(message, address);
    }
    /** The lane has taken a message. */
    void on_first_taken();
    /** The peer says what it has had. */
    void on_seen();

    /** An endpoint broke, perhaps inside a call on it. False if it is none of
     *  this. If it was the lane of messages, there will be another, for which
     *  users wait. */
    bool on_error(uct_ep_h ep, ucs_status_t status);
    /** Nothing is heard of the lane's wire. Moves it, if there is another. From
     *  progress. */
    void on_silent()
    {
        if (may_move()) {
            lose(UCS_ERR_ENDPOINT_TIMEOUT);
        }
    }
    /** Its kernel waits for long, while its wire may carry: what is under way goes over another
     *  one. From progress. */
    void on_left_behind()
    {
        on_silent();
        loss_.of_all = true;
    }
    /** The lane is not the only one that there may be. */
    bool may_move() const { return candidates_.size() > 1; }
    /** Nothing comes from the peer for long, over any rail: a lane that broke in front of that,
     *  or breaks until then, is no fault of its NIC's. */
    void on_away(sched::Nanos until)
    {
        away_until_  = until;
        loss_.of_all = true;
    }
    /** Links of our NICs have changed, or of the peer's, as it says. */
    void on_carrier();
    /** What comes by a NIC tells that it has a link, again perhaps: what says that it
     *  has none has waited for it. */
    void on_peer_carrier(uint16_t down, uint16_t back)
    {
        search_.on_peer_back(back);
        if (heard_.remote < wire::kMaxRails) {
            down &= static_cast<uint16_t>(~(1u << heard_.remote));
        }
        search_.set_peer_down(down);
        on_carrier();
    }
    /** The lane is no more, and its endpoint not yet destroyed. */
    bool lane_broken() const { return broke_; }
    /** A lane broke, and the peer has not answered on another. */
    bool replaces_lane() const { return loss_.since != sched::Nanos(); }
    /** A lane is looked for in place of one that broke, or the first one while there
     *  are NICs that were not tried. */
    bool searches() const
    {
        return loss_.since != sched::Nanos() || waits_for_contact() ||
               waits_for_kernel();
    }
    /** From progress, now and then: nobody may tell that nobody answers. */
    void watch(sched::Nanos now);
    /** There was a lane once, and none is to be had any more: why; else UCS_OK. */
    ucs_status_t lost() const { return given_up_; }

    /** The peer has ended a stream. If it leaves, it has said so over its lane before: what
     *  is written to it now has its kernel reset the lane, and UCX drops what was not
     *  read. From progress. */
    void read_last_word();
    /** Does what could not be done at once. From progress. */
    void run_deferred();

    /** Destroys all endpoints. */
    void close();

    /** The peer's number for the connection; 0: it has not said hello. */
    uint32_t peer_session() const { return heard_.session; }
    /** This process, or the peer, has rails that it had not: what it looks for may be
     *  there. */
    void     on_more_rails();
    /** No rail carries bulk data: the connection fails when it is told. */
    bool     no_paths() const { return heard_.no_paths; }
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

    /* A lane that broke, while there is no other that the peer has answered on. */
    struct Loss {
        sched::Nanos since;            /* 0: there is none */
        ucs_status_t status = UCS_OK;
        Rail        *rail   = nullptr; /* ours, of the lane, */
        uint8_t      remote = 0;       /* and the peer's */
        uint8_t      heard  = 0;       /* the last lane of the peer's by then */
        bool         told   = false;   /* the peer has lost its own before */
        bool         closed = false;   /* the peer has ended it, in order */
        bool         of_all = false;   /* all rails to the peer were silent */
        unsigned     swaps  = 0;       /* since then the peer's was taken in place of ours */
    };

    bool waits_for_contact() const
    {
        return is_unanswered() && loss_.since == sched::Nanos() &&
               channel_.rail()->traits().stream &&
               (!contact_.answered() ||
                candidates_.order().next() != candidates_.size());
    }

    /* Whether the other kernel has our hello is not known yet. */
    bool waits_for_kernel() const
    {
        return channel_.taken() && !contact_.told() && !broke_ && !conn_.failed() &&
               channel_.ep() == ep_ && channel_.rail()->traits().stream &&
               candidates_.size() > 1;
    }

    void         watch_contact(sched::Nanos now);
    void         watch_hello(sched::Nanos now);
    void         leave_datagrams();
    struct Heard { /* of the peer */
        bool     table    = false; /* of its rails */
        bool     no_paths = false; /* there are none for bulk data */
        sched::Nanos at; /* the first hello came */
        uint32_t session  = 0;
        /* Over which its hello came. */
        uint8_t  own    = 0; /* our rail */
        uint8_t  remote = 0; /* its own */
    };
    ucs_status_t connect_now(bool may_wait);
    ucs_status_t none_left();
    ucs_status_t no_answer() const;
    ucs_status_t give_up();
    void         use(uct_ep_h ep, sched::Nanos since);
    void         leave();
    void         set_aside();
    void         lose(ucs_status_t status, bool told = false,
                      bool closed = false);
    void         start_lane();
    void         next();
    bool         may_have_left();
    void         on_resume(const wire::Hello &hello);
    bool         has_not_come(const wire::Hello &hello) const;
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
    Host           &host_;
    ConnectTimer   &timer_;
    Candidates      candidates_;
    size_t          current_ = 0;
    uct_ep_h        ep_      = nullptr; /* on which the hello goes, or went */
    FirstContact    contact_;           /* where that is the first */
    bool            broke_   = false;   /* the lane, and there is no other yet */
    bool            loss_by_error_ = false; /* loss_ is of that, as UCX has told */
    bool            told_    = false;   /* inside on_resume() */
    sched::Nanos    away_until_;        /* see on_away() */
    sched::Nanos    leaves_until_;      /* the peer may have, that ended the lane */
    bool            ep_broke_ = false;  /* when it was not the lane any more */
    std::optional<uint8_t> confirms_;   /* see ControlChannel::confirm() */
    Loss            loss_;
    std::optional<wire::RailTable> address_; /* the peer's, until its hello comes */
    /* The peer's new lane goes over these rails, ours and its own. */
    std::optional<std::pair<uint8_t, uint8_t>> prefer_;
    ucs_status_t    given_up_ = UCS_OK;
    FallbackEps     fallbacks_;
    LaneSearch      search_;
    MessageLane     lane_;
    Heard           heard_;
};

} // namespace fuselink

#endif
