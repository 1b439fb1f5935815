/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_CONN_ORDER_TRACKER_H
#define FUSELINK_CONN_ORDER_TRACKER_H

#include "../ucx.h"
#include "connection.h"
#include "control_channel.h"
#include "epochs.h"
#include "put_acks.h"

#include <vector>

namespace fuselink {

struct PeerUser;

/**
 * Flush and fence of one connection, where the lane of messages and the paths of
 * bulk data meet: what is under way, what waits until that has ended, and what is
 * told then.
 *
 * Three kinds of operations are known apart: those that end in any order
 * (epochs), small puts that went as messages and are acknowledged (PutAcks), and
 * puts of the lane's own NIC, which only the lane can tell of.
 *
 * One thread at a time (the worker's).
 */
class OrderTracker {
public:
    class Events {
    public:
        /** Of the obstacles none but pending requests is left. */
        virtual void on_users_free() = 0;
        /** Bulk data may have been held, and perhaps is not any more. */
        virtual void on_bulk_free() = 0;

    protected:
        ~Events() = default;
    };

    OrderTracker(Connection &conn, ControlChannel &channel, Events &events);
    ~OrderTracker();
    OrderTracker(const OrderTracker &)            = delete;
    OrderTracker &operator=(const OrderTracker &) = delete;

    /* What flushes and fences wait for. */

    /** An operation that ends in any order: begin_op(), end_op(). */
    Epochs::Id begin_op() { return epochs_.begin(); }
    void       end_op(Epochs::Id id);
    /** Such are under way. */
    bool       ops_open() const { return epochs_.outstanding() != 0; }
    /** A put has gone as a message. */
    void       put_sent() { acks_.put_sent(); }
    /** A put has been given to the lane's NIC. Returns its number, from 1 on. */
    uint64_t   lane_put_sent()
    {
        lane_puts_ = true;
        return ++lane_puts_sent_;
    }
    /** Behind each that is kept: now and then the NIC is asked what it has done. */
    void       lane_put_kept()
    {
        if (ucs_unlikely(channel_.puts_ask_due()) && !asks_) {
            ask_lane();
        }
    }
    /** In front of such a put. */
    ucs_status_t before_lane_put();
    /** Behind each put or get that has begun. */
    void         op_begun()
    {
        if (ucs_unlikely(strict_)) {
            repeat_fence();
        }
    }
    /** A wire::Flush of the peer, untrusted: what was asked of it, or what it
     *  answers. */
    void on_request(const void *data, size_t length);
    void on_ack(const void *data, size_t length);

    /* Another lane. */

    /** Puts of the lane's NIC have been sent of which nobody knows whether they
     *  arrived: if they are not kept, the connection ends with the lane. */
    bool lane_puts_open() const { return lane_puts_ || lane_fences_ != 0; }
    /** The lane is being destroyed, and there will be another. */
    void on_lane_lost();
    /** What was sent on the lane that broke was sent again: flushes of users that
     *  asked it go on with this one. From progress. */
    void resume_flushes();
    bool flushes_wait() const { return flushes_again_ != 0 || lane_fence_due_; }
    /** Nothing is open, and nobody waits: a flush would find nothing, nor a fence but
     *  messages in front of it. */
    bool at_rest() const
    {
        return !ops_open() && !acks_.open() && !lane_puts_open() && !lane_fence_due_ &&
               !hello_fence_due_ && !ask_due_ && flushes_.empty() && at_lanes_.empty();
    }

    /* Fences. */

    /** Keeps later operations behind those that have begun; with `messages`,
     *  what was sent as a message counts as well. */
    void fence(bool messages = true);
    /** Until end_strict(): a fence behind each put and get. */
    void be_strict() { strict_ = true; }
    /** False if none was needed since be_strict(): then it goes on. */
    bool end_strict();
    /** Bulk data waits until the peer has handled the hello: it may not know
     *  this connection yet, and would drop data that overtakes the hello. From
     *  the next run_deferred() on which finds a lane. */
    void fence_hello() { hello_fence_due_ = true; }
    /** A fence keeps new bulk data back until what went before it on the lane
     *  has landed. */
    bool bulk_held() const
    {
        return acks_.bulk_held() || lane_fences_ != 0 || lane_fence_due_ ||
               hello_fence_due_;
    }
    /** A fence stands behind puts that went as messages, or with `full` messages of the
     *  user's as well, that the peer is not known to have handled. Its NIC would wait for
     *  none of them, and who acts for its program not for the user's. */
    bool behind_fence() const { return acks_.behind_fence(); }
    bool behind_full_fence() const { return acks_.behind_full_fence(); }
    /** Takes back ControlChannel::kFenced if it is over. */
    void look_at_fence();
    /** From progress, if the connection has not failed: what could not be done
     *  at once. */
    void begin_hello_fence();
    void begin_lane_fence();
    /** The same: the lane is asked for its puts. */
    void ask_again()
    {
        if (ucs_unlikely(ask_due_)) {
            ask_lane();
        }
    }

    /* Flushes: of one user, or with null of all. */

    /** UCT's contract. `from_queue`: it is a pending request itself, and passes
     *  none. */
    ucs_status_t flush(PeerUser *user, uct_completion_t *comp, bool from_queue);
    /** The same for all, where the lane is a stream: messages count as flushed
     *  when the kernel has them, whether the peer looks at them or not. */
    ucs_status_t flush_written(bool from_queue);
    /** The same while there is no lane in place of one that broke. What was sent is kept,
     *  and the peer's program, without which there is no other, may have no reason to go
     *  on before this one does: so only what is open is waited for. */
    ucs_status_t flush_kept(bool from_queue);
    /** Ends them for their users, who are told; the lane may keep them. */
    void end_flushes(const PeerUser *user, ucs_status_t status);
    /** Nobody is told. */
    void forget(const PeerUser &user);

private:
    struct FlushOp;
    enum class For : uint8_t {
        User,   /* a flush, of one operation */
        Fence,
        Ask,    /* what puts are done */
        Nobody, /* the lane is lost, and it may tell when it is destroyed, or not */
    };
    struct LaneFlush { /* on one lane */
        uct_completion_t comp; /* first: UCX gives back a pointer to it */
        OrderTracker    *order;
        FlushOp         *op;   /* of User */
        uint64_t         puts; /* of the lane's NIC, in front of it */
        uint8_t          lane; /* number */
        For              what;
    };
    struct FlushOp {
        LaneFlush        *lane; /* under way */
        PeerUser         *owner;
        uct_completion_t *user; /* null once it was told */
        Epochs::Id        boundary;
        uint64_t          last_put;
        int               waiting;
        bool              wait_epoch;
        bool              wait_puts;
        bool              wait_lane; /* there is to be another one */
        ucs_status_t      status;
    };

    bool lane_is_open() const;
    bool puts_and_ops_open();
    void check_waiters();
    void repeat_fence();
    void flush_lane();
    void ask_lane();
    void note_lane_flushed(uint64_t puts);
    void hold_bulk();
    void request_ack();
    LaneFlush *begin_lane_flush(For what, FlushOp *op = nullptr);
    void       end_lane_flush(LaneFlush *flush, ucs_status_t status);
    void       drop_lane_flush(LaneFlush *flush);
    void flush_step(FlushOp *op, ucs_status_t status);
    void end_flush(FlushOp *op, ucs_status_t status);

    static void on_lane_flushed(uct_completion_t *comp);

    Connection            &conn_;
    ControlChannel        &channel_;
    Events                &events_;
    Epochs                 epochs_;
    Epochs::Id             fence_boundary_ = 0; /* of kFenced */
    PutAcks                acks_;
    bool                   strict_          = false;
    bool                   strict_used_     = false;
    bool                   lane_puts_       = false; /* since a fence or flush */
    uint64_t               lane_puts_sent_  = 0;
    bool                   lane_put_fence_  = false; /* one since the last put */
    unsigned               lane_fences_     = 0; /* flushes for one, not ended */
    bool                   lane_fence_due_  = false; /* one that has not begun */
    bool                   asks_            = false; /* the lane, for its puts */
    bool                   ask_due_         = false; /* it has had no room for that */
    bool                   hello_fence_due_ = false;
    unsigned               lane_flushes_    = 0; /* of users, not ended */
    unsigned               flushes_again_   = 0; /* of which the lane broke */
    std::vector<FlushOp *> flushes_;
    std::vector<LaneFlush *> at_lanes_;
};

} // namespace fuselink

#endif
