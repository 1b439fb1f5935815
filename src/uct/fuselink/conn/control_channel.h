/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_CONN_CONTROL_CHANNEL_H
#define FUSELINK_CONN_CONTROL_CHANNEL_H

#include "../rail/lanes.h"
#include "../rail/rail.h"
#include "../ucx.h"
#include "connection.h"
#include "control_queue.h"

namespace fuselink {

/**
 * The lane on which all messages to one peer go, the user's and fuselink's own,
 * and so stay in order: an endpoint on one of our rails, what keeps users from
 * sending there now, and the queue of our own messages that wait for room.
 *
 * Which endpoint it is, others say (Wireup). Between leave() and the next open()
 * there is none: users may not send then, and what is to be said waits.
 *
 * One thread at a time (the worker's).
 */
class ControlChannel {
public:
    /** What the lane tells of. Called from inside of its methods. */
    class Events : public LaneOwner {
    public:
        /** It has taken the first message. */
        virtual void on_first_taken() = 0;
        /** Of what waited all was sent that there is room for, perhaps none. */
        virtual void on_drained() = 0;
        /** There is room, after the queue had its part. */
        virtual void on_room() = 0;
        /** It failed in the call of a user. */
        virtual void on_call_failed(ucs_status_t status) = 0;
    };

    /** Reasons not to send now, checked as one branch. */
    enum Obstacle : unsigned {
        kFailed     = 1,  /* for good */
        kFenced     = 2,  /* earlier bulk operations have not ended */
        kBlocked    = 4,  /* the lane has no room */
        kConnecting = 8,  /* there is no lane yet */
        kQueued     = 16, /* requests are pending: what comes now is later */
        kWiring     = 32, /* there is a lane, but users wait for a better */
    };

    /** @param own the identity of this interface. The others outlive this. */
    ControlChannel(Connection &conn, uint64_t own, Events &events);
    ControlChannel(const ControlChannel &)            = delete;
    ControlChannel &operator=(const ControlChannel &) = delete;

    unsigned obstacles() const { return obstacles_; }
    bool     has(unsigned obstacles) const { return obstacles_ & obstacles; }
    void     set(unsigned obstacles) { obstacles_ |= obstacles; }
    void     clear(unsigned obstacles) { obstacles_ &= ~obstacles; }

    /* The lane: an endpoint, null if there is none, of a rail of ours, which is
     * the last one then, to the peer's rail of a number. */
    uct_ep_h ep() const { return ep_; }
    Rail    *rail() const { return rail_; }
    uint8_t  remote() const { return remote_; }
    /** Has one, or will have one soon. */
    bool     connected() const { return ep_ != nullptr || has(kConnecting); }
    /** It has an endpoint that does no more than messages. */
    bool     for_hellos() const { return rail_->by_ep() && for_hellos_; }

    /** The lane is one on which hellos go. Where that is not the rail's best,
     *  users wait: kWiring. */
    void open(uct_ep_h ep, Rail &rail, uint8_t remote);
    /** It is an endpoint of its own. What waits on the one before for room is
     *  forgotten. */
    void move_to(uct_ep_h ep, Rail &rail, uint8_t remote);
    /** It is no more, nothing went over it, and there will be another. */
    void leave();
    /** It is no more. */
    void close();

    /* The user's messages. A call is for when there is no obstacle; the first
     * two are the path of a short message. */
    ucs_status_t am_short(uint8_t id, uint64_t header, const void *payload,
                          unsigned length)
    {
        ucs_status_t status = uct_ep_am_short(ep_, id, header, payload, length);
        if (ucs_unlikely(status != UCS_OK)) {
            return outcome(status);
        }
        note_message();
        return UCS_OK;
    }
    ssize_t am_bcopy(uint8_t id, uct_pack_callback_t pack, void *arg,
                     unsigned flags)
    {
        ssize_t sent = uct_ep_am_bcopy(ep_, id, pack, arg, flags);
        if (ucs_unlikely(sent < 0)) {
            return outcome(static_cast<ucs_status_t>(sent));
        }
        note_message();
        return sent;
    }
    /** The same for a message of fuselink's that belongs to an operation of a
     *  user: it is not queued. */
    ucs_status_t am_control(uct_pack_callback_t pack, void *arg);

    /** What a call on the lane returned, with its consequences. */
    ucs_status_t outcome(ucs_status_t status);

    /* A flush asks the lane only for what is the user's. fuselink's own messages
     * (answers, hello) would make it wait for a peer that has no reason to make
     * progress any more. */
    void note_message() { unflushed_ = unfenced_ = true; }
    void note_rma() { unflushed_ = true; }
    /** Anything of the user's since the last flush. */
    bool unflushed() const { return unflushed_; }
    void note_flush() { unflushed_ = false; }
    /** Of a lane that is a stream: the kernel has all that was sent. If not, the
     *  lane counts as full until it has. */
    bool written();
    /** Messages of the user's since the last call. */
    bool take_unfenced()
    {
        const bool unfenced = unfenced_;
        unfenced_           = false;
        return unfenced;
    }

    /** As Connection::send_control(). */
    void send(void *head, size_t head_length, const void *body,
              size_t body_length);
    /** A hello: goes ahead of what waits. */
    void send_first(ControlQueue::Message message);
    /** Fills in what is the same for all control messages of the connection. */
    void stamp(void *head) const;
    /** Sends one on an endpoint to the peer, which need not be the lane's. False
     *  if that has no room. One that fails takes everything: nothing will ever
     *  be sent there. */
    bool try_send(uct_ep_h ep, const void *head, size_t head_length,
                  const void *body = nullptr, size_t body_length = 0);

    /** Sends what waits, as far as there is room. */
    void drain();
    /** From progress: looks for room where nothing else tells of it. */
    void look_for_room();
    /** Some lane has taken a message. */
    bool taken() const { return taken_; }
    /** Our own messages that wait. */
    bool   queue_empty() const { return queue_.empty(); }
    size_t queue_bytes() const { return queue_.bytes(); }
    void   clear_queue() { queue_.clear(); }

private:
    struct Hook { /* our request on the lane's pending queue */
        uct_pending_req_t req; /* first: UCX gives back a pointer to it */
        ControlChannel   *channel;
        bool              queued  = false;
        bool              running = false; /* inside on_hook() */
    };

    void block();
    void room();

    static ucs_status_t on_hook(uct_pending_req_t *req);

    Connection    &conn_;
    const uint64_t own_;
    Events        &events_;
    unsigned       obstacles_  = 0;
    uct_ep_h       ep_         = nullptr;
    Rail          *rail_       = nullptr;
    uint8_t        remote_     = 0;
    bool           for_hellos_ = false;
    bool           unflushed_  = false;
    bool           unfenced_   = false;
    bool           taken_      = false;
    bool           draining_   = false;
    bool           room_later_ = false; /* look for room from progress */
    Hook           hook_{};
    ControlQueue   queue_;
};

} // namespace fuselink

#endif
