/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_CONN_CONTROL_CHANNEL_H
#define FUSELINK_CONN_CONTROL_CHANNEL_H

#include "../rail/lanes.h"
#include "../ucx.h"
#include "../wire/messages.h"
#include "connection.h"
#include "control_queue.h"
#include "held_messages.h"
#include "lane_ep.h"
#include "message_log.h"
#include "message_order.h"
#include "message_pins.h"
#include "put_log.h"
#include "seen_timer.h"
#include "questions.h"
#include "side_lanes.h"

#include <cstring>
#include <vector>

namespace fuselink {

/**
 * The lane on which all messages to one peer go, the user's and fuselink's own,
 * and so stay in order: an endpoint on one of our rails, what keeps users from
 * sending there now, and what was accepted and not acknowledged.
 *
 * A message that is accepted will be there, whatever becomes of the lane: it is
 * numbered and kept (MessageLog), and the next lane begins with what the peer has
 * not acknowledged. The peer takes each number once (MessageOrder). So a change
 * of lanes needs nothing of the lane that was: what comes late over it is known by
 * the lane's number. The exceptions are messages that say of the lane how it is, or
 * that it ends (wire::is_numbered()).
 *
 * The user's may go over other wires as well (SideLanes), with the lane's number: the
 * peer holds what comes before its turn (HeldMessages). When such a wire breaks the lane
 * takes again what is not acknowledged.
 *
 * Puts of the lane's own NIC have their places between the messages. They are kept
 * as well (PutLog), until they are done, and the next lane takes them as messages:
 * when the peer has confirmed that nothing of the lane that broke can be executed
 * there any more. Until they are done users wait.
 *
 * Which endpoint it is, others say (Wireup). Between leave() and the next open()
 * there is none: users may not send then, and what is to be said waits.
 *
 * One thread at a time (the worker's).
 */
class ControlChannel final : private SeenTimer::Client,
                             private MessagePins::Client,
                             private LaneEp::Waiter {
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
    };

    /** Reasons not to send now, checked as one branch. */
    enum Obstacle : unsigned {
        kFailed     = 1,  /* for good */
        kFenced     = 2,  /* earlier bulk operations have not ended */
        kBlocked    = 4,  /* the lane has no room */
        kConnecting = 8,  /* there is no lane now */
        kQueued     = 16, /* requests are pending: what comes now is later */
        kWiring     = 32, /* there is a lane, but users wait for a better */
        kUnseen     = 64, /* the peer has not acknowledged enough */
        kPutsOpen   = 128, /* the NIC has not done enough of the users' puts */
        kPutsAgain  = 256, /* puts of the NIC of an earlier lane are not done */
        kResting    = 512, /* none: who sends says so first, by Connection::rouse() */
        kFenceDue   = 1024, /* one of the interface's, since it rested */
    };

    /** @param own   the identity of this interface
     *  @param token what the peer is to call this connection; kNoToken: nothing
     *  The others outlive this. */
    ControlChannel(Connection &conn, uint64_t own, wire::Token token,
                   MessageMemory &memory, SeenTimer &timer, Events &events);
    ~ControlChannel() { timer_.forget(*this); }
    ControlChannel(const ControlChannel &)            = delete;
    ControlChannel &operator=(const ControlChannel &) = delete;

    unsigned obstacles() const { return obstacles_; }
    bool     has(unsigned obstacles) const { return obstacles_ & obstacles; }
    void     set(unsigned obstacles) { obstacles_ |= obstacles; }
    void     clear(unsigned obstacles) { obstacles_ &= ~obstacles; }

    /** The other wires there are; outlive their endpoints, and this does not use them
     *  when it ends. */
    void set_sides(SideLanes &sides) { sides_ = &sides; }
    /** Whether they are to be asked, for each message; and what is said on each
     *  (wire::kMarks). */
    void spread(bool yes, uint8_t marks)
    {
        spreads_ = yes;
        marks_   = marks;
    }
    bool spreads() const { return spreads_; }
    /** They have taken what is not acknowledged. */
    bool beside() const { return beside_.open; }
    /** They may have lost what they took: the lane takes again what is not acknowledged,
     *  which is counted in `broke`. From progress. */
    void resend(Count &broke);
    /** The connection is over: the lane takes what they have taken that is not
     *  acknowledged, so that its last word is behind that. False: not yet. */
    bool gather();

    /* The lane: an endpoint, null if there is none, of a rail of ours, which is
     * the last one then, to the peer's rail of a number. */
    uct_ep_h ep() const { return ep_.handle(); }
    Rail    *rail() const { return ep_.rail(); }
    uint8_t  remote() const { return ep_.remote(); }
    /** Has one, or will have one soon. */
    bool     connected() const { return ep() != nullptr || has(kConnecting); }
    /** Nothing to other peers goes over the lane's end: dc has one for all. */
    bool     has_own_end() const
    {
        return rail()->by_ep() || !rail()->reads();
    }
    /** It has an endpoint that does no more than messages. */
    bool     for_hellos() const { return rail()->by_ep() && lane_.for_hellos; }

    /** The lane is one on which hellos go. Where that is not the rail's best,
     *  users wait: kWiring. */
    void open(uct_ep_h ep, Rail &rail, uint8_t remote, const LaneEp::Limits &limits);
    /** It is an endpoint of its own. What waits on the one before for room is
     *  forgotten. */
    void move_to(uct_ep_h ep, Rail &rail, uint8_t remote, const LaneEp::Limits &limits);
    /** It is no more, and there will be another. */
    void leave();
    /** It is no more. */
    void close();

    /* Lanes are counted, by either side; the numbers wrap around. One that takes again what
     * others had goes on with the next number. */
    uint8_t     lane() const { return lane_.began; }
    uint8_t     peer_lane() const { return order_.lane(); }
    wire::Token token() const { return token_; }
    void        set_peer_token(wire::Token token) { peer_token_ = token; }

    /** False: a message of so many bytes has to wait, as kUnseen says then. While
     *  there is no obstacle one that fits a copied message is accepted always. */
    bool may_accept(size_t length);

    /* The user's messages. A call is for when there is no obstacle, and is always
     * accepted then: what the lane has no room for now, it sends later. */
    void    am_short(uint8_t id, uint64_t header, const void *payload,
                     unsigned length);
    /** As UCT's: returns the bytes that were packed, no more than `most`. */
    ssize_t am_bcopy(uint8_t id, uct_pack_callback_t pack, void *arg,
                     size_t most);
    /** The same for a message of fuselink's that belongs to an operation of a
     *  user. It begins with a wire::ControlHeader whose type is filled in. */
    void    am_control(uct_pack_callback_t pack, void *arg, size_t most);

    /* Puts of the lane's NIC, of a user. The NIC has one when it is kept. */

    /** Keeps what `header` says. @param serial counts them, from 1 on */
    void  keep_put(uint64_t serial, const wire::PutData &header,
                   const void *data, size_t length);
    /** The same where the bytes are written first: memory for up to `most`. */
    char *reserve_put(size_t most)
    {
        return puts_.reserve(sizeof(wire::PutData) + most) +
               sizeof(wire::PutData);
    }
    void  keep_reserved_put(uint64_t serial, const wire::PutData &header,
                            size_t length);
    /** Some are not known to be done. */
    bool  puts_kept() const { return !puts_.empty(); }
    /** The NIC is to be asked which are. */
    bool  puts_ask_due() const { return puts_.ask_due(); }
    void  note_puts_asked() { puts_.note_asked(); }
    /** It has done all up to this one. */
    void  puts_done(uint64_t serial);

    /** What an operation of the lane's NIC returned, with its consequences. An
     *  operation that broke the lane may be tried again. */
    ucs_status_t outcome(ucs_status_t status);

    /* A flush asks the lane only for what is the user's. fuselink's own messages
     * (answers, hello) would make it wait for a peer that has no reason to make
     * progress any more. */
    void note_message() { lane_.unflushed = lane_.unfenced = true; }
    void note_rma() { lane_.unflushed = true; }
    /** Anything of the user's since the last flush. */
    bool unflushed() const { return lane_.unflushed; }
    void note_flush() { lane_.unflushed = false; }
    /** Of a lane that is a stream: the kernel has all that was sent. If not, the
     *  lane counts as full until it has. */
    bool written()
    {
        return !has(kBlocked) && sent_all() && is_through() &&
               (!beside_.open || sides_->are_through());
    }
    /** The same of a connection that is over, whatever waits. */
    bool is_through();
    /** Messages of the user's since the last call. */
    bool take_unfenced()
    {
        const bool unfenced = lane_.unfenced;
        lane_.unfenced      = false;
        return unfenced;
    }

    /** As Connection::send_control(). */
    void send(void *head, size_t head_length, const void *body,
              size_t body_length);
    /** A hello: goes ahead of what waits, in place of one that waits itself. */
    void send_first(std::vector<uint8_t> message);
    /** Fills in what is the same for all control messages of the connection. */
    void stamp(void *head) const;
    /** Sends one that has no number on an endpoint to the peer, which need not be
     *  the lane's. False if that has no room. One that fails takes everything:
     *  nothing will ever be sent there. */
    bool try_send(uct_ep_h ep, const void *head, size_t head_length);

    /** Sends what waits, as far as there is room. */
    void drain();
    /** All that was accepted was given to the lane, and what an earlier one had is
     *  done. */
    bool sent_all() const { return !log_.unsent() && !has(kPutsAgain); }
    /** From progress: looks for room where nothing else tells of it. */
    void look_for_room();
    /** The lane has taken a message. */
    bool taken() const { return lane_.taken; }
    /** Nothing was sent, or is to be, of which anybody may want to hear. */
    bool at_rest() const
    {
        return lane_.taken && (obstacles_ & ~unsigned{kResting | kFenceDue}) == 0 &&
               log_.messages() == 0 && puts_.empty() && queue_.empty() &&
               hello_.empty() && !beside_.open && !telling_.due && !room_later_;
    }
    /** Our own messages that wait. */
    bool   queue_empty() const { return queue_.empty(); }
    size_t queue_bytes() const { return queue_.bytes(); }
    /** The connection has failed: nothing more is to be sent. */
    void   drop_all();
    /** The same, when there is no lane any more that may be sending from there. */
    void   drop_log()
    {
        log_.clear();
        puts_.clear();
    }

    /* What comes. Untrusted. */

    /** A numbered message over the peer's lane of that number, or beside it. Ahead: it is
     *  to be held. */
    MessageOrder::Place take(uint8_t lane, wire::MessageNumber number,
                             wire::MessageNumber seen, size_t length)
    {
        const auto place = order_.take(lane, number, length);
        if (ucs_unlikely(place != MessageOrder::Place::Next)) {
            if (lane == order_.lane()) {
                acknowledged(seen); /* the peer does not say it again */
            }
            return place;
        }
        if (seen != log_.first_number()) {
            acknowledged(seen);
        }
        if (ucs_unlikely(held_.any())) {
            held_.pass();
        }
        note_taken();
        return place;
    }
    /** Holds one that is ahead; `am_id` is the rail's. */
    void hold(wire::MessageNumber number, uint8_t am_id, const void *data,
              size_t length);
    /** Behind each that was taken: the next one is held. */
    bool holds_next() const { return held_.any() && held_.next() != nullptr; }
    /** It counts as taken. What is returned stays until free_held(). */
    HeldMessages::Taken take_held()
    {
        const HeldMessages::Taken taken = held_.take();
        order_.pass(taken.message.length);
        note_taken();
        return taken;
    }
    void free_held(const HeldMessages::Taken &taken) { held_.free(taken); }
    /** A put that comes again. False: it is not to be executed. */
    bool take_again(const wire::ControlHeader &header)
    {
        return order_.is_in_front(header.lane, header.number);
    }
    /** A hello over that lane. */
    void on_hello(uint8_t lane, wire::MessageNumber seen);
    /** A wire::Seen. */
    void on_seen(const wire::ControlHeader &header);
    /** The peer hears what came as soon as the lane takes it. */
    void say_seen();
    /** And that nothing of its lanes before this one can be executed here any
     *  more. */
    void confirm(uint8_t lane)
    {
        again_.confirmed = lane;
        say_seen();
    }
    /** What the peer has confirmed so. */
    void on_confirmed(uint8_t lane)
    {
        if (ucs_unlikely(has(kPutsAgain)) && !again_.may_go &&
            !wire::lane_before(lane, again_.lane)) {
            again_.may_go = true;
            look_later();
        }
    }
    /** It hears what came, and is asked what it has had itself. */
    void ask_seen();

    /** What it was told by messages that nobody acknowledges: how many, and one is
     *  due. */
    uint64_t said_seen() const { return telling_.said; }
    /** What it was asked by these, on whatever way. */
    const Questions &questions() const { return questions_; }
    bool     seen_is_due() const { return telling_.due; }

    /** The number of the message that is next accepted. */
    wire::MessageNumber next_number() const { return log_.next_number(); }
    /** Bytes of messages since the beginning: that were accepted, and that the peer has
     *  acknowledged. */
    uint64_t accepted() const { return log_.arrived() + log_.bytes(); }
    uint64_t arrived() const { return log_.arrived(); }
    /** Messages that the peer has not acknowledged, */
    size_t unseen() const { return log_.messages(); }
    /** and how many it has, since the beginning; wraps around. */
    wire::MessageNumber acknowledged() const { return log_.first_number(); }
    /** Bytes that were sent again on other lanes, since the beginning. */
    uint64_t resent() const { return log_.resent(); }

private:
    struct Lane {
        uint8_t number = 0; /* on messages */
        uint8_t began  = 0; /* its first */
        bool    for_hellos = false;
        bool    unflushed  = false;
        bool    unfenced   = false;
        bool    taken      = false; /* something */
    };
    /* Puts of the NIC of an earlier lane. */
    struct Again {
        uint8_t confirmed = 0;     /* of the peer's, to it */
        uint8_t lane      = 0;     /* what it is to confirm for ours, */
        bool    may_go    = false; /* and has */
    };
    /* Messages that others than the lane have taken, not acknowledged. */
    struct Beside {
        bool                open = false;
        wire::MessageNumber last = 0;
    };
    /* What the peer is told of its messages. */
    struct Telling {
        bool     owes = false; /* the timer tells what came */
        bool     due  = false; /* it is to be told now, */
        bool     asks = false; /* and to be asked */
        uint64_t said = 0;     /* how often it was, by a message for that */
    };

    void begin_lane(uct_ep_h ep, Rail &rail, uint8_t remote,
                    const LaneEp::Limits &limits);
    void rouse()
    {
        if (ucs_unlikely(has(kResting))) {
            conn_.rouse();
        }
    }
    void block();
    void room();
    void append(const void *head, size_t head_length, const void *body,
                size_t body_length);
    void committed();
    void note_full()
    {
        if (ucs_unlikely(!log_.has_room(ep_.limits().am_bcopy))) {
            set(kUnseen);
        }
    }
    bool send_next();
    bool send_hello();
    bool send_seen();
    bool send_put();
    bool put_is_next()
    {
        return puts_.unsent() &&
               (!log_.unsent() ||
                wire::message_distance(puts_.front_unsent().number,
                                       log_.first_unsent()) <= 0);
    }
    void note_puts();
    void send_later();
    void look_later()
    {
        room_later_ = true; /* not from inside of a rail's callback */
        conn_.defer();
    }
    void refresh(uint8_t am_id, char *bytes);
    void acknowledged(wire::MessageNumber seen);
    void note_taken()
    {
        if (ucs_unlikely(!telling_.owes)) {
            telling_.owes = true;
            timer_.owe(*this);
        }
        if (ucs_unlikely(order_.tell_now())) {
            say_seen();
        }
    }
    ucs_status_t give(uct_ep_h ep, MessageLog::Record &record, MessagePin *pin);
    bool         give_aside(MessageLog::Record &record);
    void         rewind(Count *broke);
    void lane_failed(ucs_status_t status);

    void tell_seen() override;
    void on_lane_room() override { room(); }
    void on_unpinned(wire::MessageNumber seen) override { acknowledged(seen); }

    Connection       &conn_;
    const uint64_t    own_;
    const wire::Token token_;
    SeenTimer        &timer_;
    Events           &events_;
    unsigned          obstacles_  = 0;
    LaneEp            ep_{*this};
    Lane              lane_;
    Count            *resent_     = nullptr; /* of the rail that broke last */
    wire::Token       peer_token_ = wire::kNoToken;
    bool              draining_   = false;
    bool              room_later_ = false; /* look for room from progress */
    Telling           telling_;
    Questions         questions_;
    Again             again_;
    MessageLog        log_;
    PutLog            puts_;
    MessageOrder      order_;
    HeldMessages      held_;
    SideLanes        *sides_   = nullptr;
    bool              spreads_ = false;
    uint8_t           marks_   = 0; /* on users' messages */
    bool              gathers_ = false;
    Beside            beside_;
    MessagePins       pins_{*this};
    MessagePin        pin_; /* the lane's, if it is a stream */
    ControlQueue      queue_;
    std::vector<uint8_t> hello_; /* goes first */
};

/* The path of a short message. */
inline void ControlChannel::am_short(uint8_t id, uint64_t header,
                                     const void *payload, unsigned length)
{
    if (ucs_unlikely(peer_token_ == wire::kNoToken)) {
        struct {
            wire::UserMessage own;
            uint64_t          header;
        } head{};
        head.own.header.type = static_cast<uint8_t>(wire::ControlType::User);
        head.own.am_id       = id;
        head.header          = header;
        stamp(&head);
        append(&head, sizeof(head), payload, length);
    } else {
        const size_t size  = sizeof(wire::UserHeader) + sizeof(header) + length;
        char        *bytes = log_.reserve(size);
        const wire::UserHeader own{static_cast<uint8_t>(id | marks_), lane_.number,
                                   peer_token_, log_.next_number(), order_.next()};
        uint64_t first;
        memcpy(&first, &own, sizeof(first));
        memcpy(bytes, &first, sizeof(first));
        memcpy(bytes + sizeof(own), &header, sizeof(header));
        if (length != 0) { /* payload may be null else */
            memcpy(bytes + sizeof(own) + sizeof(header), payload, length);
        }
        constexpr uint8_t kUser = static_cast<uint8_t>(wire::RailAm::User);
        const bool        goes  = !log_.unsent() && !draining_ && !spreads_ &&
                           size <= ep_.limits().am_short &&
                           !has(kBlocked | kConnecting | kFailed);
        log_.commit(kUser, size);
        if (ucs_likely(goes &&
                       uct_ep_am_short(ep(), kUser, first, bytes + sizeof(own),
                                       static_cast<unsigned>(
                                           size - sizeof(own))) == UCS_OK)) {
            order_.tell();
            log_.note_last_sent();
            note_full();
        } else {
            committed(); /* once more, and sees what becomes of it */
        }
    }
    note_message();
}

} // namespace fuselink

#endif
