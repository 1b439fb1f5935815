/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_PEER_PEER_H
#define FUSELINK_PEER_PEER_H

#include "../conn/connection.h"
#include "../conn/control_channel.h"
#include "../conn/lane_ops.h"
#include "../conn/endpoints.h"
#include "../conn/order_tracker.h"
#include "../conn/pending_queue.h"
#include "../conn/user.h"
#include "../rma/get_table.h"
#include "../rma/initiator.h"
#include "../rma/key_exchange.h"
#include "../rma/local_memory.h"
#include "../rma/open_gets.h"
#include "../rma/target.h"
#include "../rx/bulk_receiver.h"
#include "../transfer/bulk.h"
#include "../transfer/key_source.h"
#include "../transfer/rx_paths.h"
#include "../transfer/transfer_owner.h"
#include "../ucx.h"
#include "../wire/address.h"
#include "../wire/messages.h"
#include "../wireup/wireup.h"
#include "cancellation.h"
#include "inflow.h"
#include "message_paths.h"
#include "messages.h"
#include "rail_news.h"
#include "silence_watch.h"
#include "peer_context.h"
#include "teardown.h"

#include <memory>

namespace fuselink {

/**
 * One connection to another process's `rails` interface, as seen from here.
 *
 * Messages (the user's and fuselink's own) travel on one lane, ControlChannel,
 * and so stay in order. Bulk data is spread over all paths by BulkSender. The two
 * meet in OrderTracker. This puts the parts together: it hands each what comes for
 * it, and tells one what another has to say.
 *
 * A failed peer never recovers: whoever connects again gets another Peer with
 * another session. It stays until nothing refers to it, see closed().
 *
 * One thread at a time (the worker's).
 */
class Peer final : public Connection,
                   public ControlChannel::Events,
                   public GetOwner,
                   private OrderTracker::Events,
                   private TransferOwner,
                   private KeySource,
                   private RxPaths {
public:
    /** @param token what the peer is to call this connection in front of its
     *               messages; kNoToken: nothing */
    Peer(const PeerContext &context, uint64_t uuid, uint32_t session,
         wire::Token token);
    ~Peer();
    Peer(const Peer &)            = delete;
    Peer &operator=(const Peer &) = delete;

    /** See Wireup::connect(). */
    ucs_status_t connect(const wire::RailTable &address)
    {
        rouse();
        return wireup_.connect(address);
    }

    void attach(PeerUser &user) { pending_.attach(user); }
    /** The endpoint is destroyed: what is left of its operations ends without
     *  telling anybody. */
    void detach(PeerUser &user);

    /** The peer's number for the connection; 0: it has not said hello. */
    uint32_t peer_session() const { return wireup_.peer_session(); }
    /** Its rails, once it has said hello. */
    const wire::RailTable &table() const { return bulk_.table(); }
    /** The peer knows that this connection is over. */
    bool has_left() const { return teardown_.peer_left(); }
    /** Has a lane of messages, or will have one soon. */
    bool     connected() const { return channel_.connected(); }

    /* Operations of a user's endpoint; UCT's contract. The first two are here
     * because the edge's only call of each is the path of a short message. */
    ucs_status_t am_short(uint8_t id, uint64_t header, const void *payload,
                          unsigned length)
    {
        if (ucs_unlikely(channel_.obstacles() != 0)) {
            return messages_.am_short(id, header, payload, length);
        }
        channel_.am_short(id, header, payload, length);
        return UCS_OK;
    }
    ssize_t am_bcopy(uint8_t id, uct_pack_callback_t pack, void *arg)
    {
        return messages_.am_bcopy(id, pack, arg);
    }
    /** Messages without copying by UCT's rules. */
    Messages     &messages() { return messages_; }
    /** Puts and gets. */
    RmaInitiator &rma() { return rma_; }
    /** Requests of users that wait. */
    PendingQueue &pending() { return pending_; }
    /** `user` is null for a flush of the whole interface, which has no
     *  completion. */
    ucs_status_t flush(PeerUser *user, unsigned flags, uct_completion_t *comp);
    /** `of_interface`: UCP's users ask for one. Then what was sent as a message
     *  counts as well: UCP's atomics are messages. The fence of an endpoint
     *  stands between the data and the notice of a rendezvous, where waiting
     *  for messages would cost a round trip for nothing. */
    ucs_status_t fence(bool of_interface);
    ucs_status_t check(unsigned flags, uct_completion_t *comp);

    /** A message of the user's has come, or another that is numbered, on that active
     *  message of the rail. False if it is not to be handled now: it was here before, or
     *  has come before its turn, and is held. */
    template <typename Header>
    bool take(const Header &header, wire::RailAm am, const void *data, size_t length)
    {
        if (ucs_unlikely(failed())) {
            return false;
        }
        const auto place = channel_.take(header.lane, header.number, header.seen, length);
        if (ucs_unlikely(place == MessageOrder::Place::Ahead)) {
            channel_.hold(header.number, static_cast<uint8_t>(am), data, length);
        }
        return place == MessageOrder::Place::Next;
    }
    /** What it said on its last message (wire::kMarks), and says on this one. */
    uint8_t marks() const { return message_paths_.marks(); }
    void    note_marks(uint8_t marks) { message_paths_.note_marks(marks); }
    void    note_message() { message_paths_.note_message(); }
    void    note_beside() { message_paths_.note_beside(); }
    /** What it has acknowledged of ours. */
    wire::MessageNumber acknowledged() const { return channel_.acknowledged(); }
    /** Behind each that was handled: the next one is held, */
    bool holds_next() const { return channel_.holds_next() && !failed(); }
    /** and is handled now, and freed. */
    HeldMessages::Taken take_held() { return channel_.take_held(); }
    void free_held(const HeldMessages::Taken &taken) { channel_.free_held(taken); }
    wire::Token token() const { return channel_.token(); }

    /* Incoming control messages; header.sender is this peer and the session
     * is that of this connection. */
    void on_hello(const wire::Hello &hello, const wire::RailTable &table)
    {
        rouse();
        wireup_.on_hello(hello, table);
        news_.on_hello();
    }
    void on_control(const wire::ControlHeader &header, const void *data,
                    size_t length);
    /** The same of one that was held. */
    void on_held(const wire::ControlHeader &header, const void *data, size_t length)
    {
        handle(header, data, length);
    }

    /* Incoming bulk data. */
    uint64_t uuid() const override { return Connection::uuid(); }
    bool     on_announced(uint8_t rail, uint8_t own, uint32_t number) override
    {
        return receiver_.on_announced(rail, own, number);
    }
    void     on_landed(Get &get, uint64_t length) override
    {
        gets_.landed(get, length);
    }
    void     on_data_part(const wire::DataPart &part, const char *data,
                          size_t length)
    {
        receiver_.on_part(part, data, length);
    }
    /** Of a pool of those that it is lent, bytes; 0: none. */
    size_t   slot_size(uint32_t pool) const { return receiver_.slot_size(pool); }
    /** A chunk is in a slot that was lent to the peer. */
    void     on_slot_full(const wire::DataPart &part, const wire::InSlot &in)
    {
        receiver_.on_full(part, in);
    }

    void fail(ucs_status_t status) override;
    void defer() override
    {
        rouse();
        deferred_.defer(*this);
    }
    void rouse() override
    {
        if (ucs_unlikely(rests())) {
            deferred_.rouse(*this);
        }
    }
    void send_control(void *head, size_t head_length,
                      const void *body = nullptr,
                      size_t body_length = 0) override
    {
        channel_.send(head, head_length, body, body_length);
    }
    void on_lane_error(uct_ep_h ep, ucs_status_t status) override;

    /** A hello to a connection that has failed. */
    void on_hello_late();
    /** This is a connection that the peer believes to have: it is told that there
     *  is none. For nothing else. */
    void reject(uint32_t peer_session, const wire::RailTable &table)
    {
        wireup_.on_rejected(peer_session, table);
        fail_as_told(UCS_ERR_CONNECTION_RESET);
    }
    /** Fails because the peer itself has given this connection up. */
    void fail_as_told(ucs_status_t status);
    /** The interface closes: nothing more is taken or accepted, and the peer is
     *  told. True when it was, or cannot be. */
    bool begin_closing();
    /** If it was not: once more. */
    bool go_on_closing() { return teardown_.say_closed_again(); }
    /** All operations end now. */
    void abandon();

    /** Looks whether anybody is silent. From progress, each
     *  SilenceWatch::kInterval. */
    void watch(sched::Nanos now)
    {
        if (watched()) {
            silence_.look(now);
            wireup_.watch(now);
            message_paths_.look(now);
        } else if (waits_for_nic()) {
            silence_.look_at_nic(now);
        }
    }
    /** A wire has fallen silent, or speaks again. From progress. */
    void on_wire(const Wire &wire)
    {
        if (!failed()) {
            silence_.on_wire(wire);
        }
    }
    /** A queue pair of a wire waits for long. From progress. */
    void on_doubt(Wire &wire, sched::Nanos now)
    {
        if (!failed()) {
            silence_.on_doubt(wire, now);
        }
    }
    /** As PeerTable::on_carrier(). From progress. */
    void on_carrier(uint16_t down, uint16_t back);
    /** Rails of ours are new. From progress. */
    void on_new_rails()
    {
        rouse();
        news_.on_own();
    }
    bool watched() const
    {
        return !failed() && (silence_.needed() || wireup_.searches() ||
                             message_paths_.tries());
    }
    /** Nothing is under way, or is to be: nobody need look at it, a flush of the interface
     *  would find nothing here, and its fences can wait for the next operation. */
    bool may_rest() const
    {
        return channel_.at_rest() && order_.at_rest() && !watched() && !waits_for_nic() &&
               !is_deferred_;
    }
    bool rests() const { return channel_.has(ControlChannel::kResting); }
    /** Until end_rest(), which rouse() leads to. `fences`: of the interface, so far. */
    void rest(uint64_t fences)
    {
        bulk_.paths().drop_plan();
        rested_at_ = fences;
        channel_.set(ControlChannel::kResting);
    }
    void end_rest(uint64_t fences)
    {
        channel_.clear(ControlChannel::kResting);
        if (fences != rested_at_) {
            channel_.set(ControlChannel::kFenceDue);
        }
    }
    /** Waits for run_deferred(), as DeferredPeers says. */
    bool deferred() const { return is_deferred_; }
    void set_deferred(bool yes) { is_deferred_ = yes; }
    /** Only the NIC of its messages is waited for, which tells of silence itself. */
    bool waits_for_nic() const { return !failed() && silence_.waits_for_nic(); }
    /** It has acknowledged all messages. */
    bool all_seen() const { return channel_.unseen() == 0; }
    /** What could not be done where it came up: see Connection::defer(). */
    void run_deferred();

    /** Failed, and nothing is under way any more: it says nothing either. */
    bool over() const { return closed_; }
    /** The same, and no user refers to it. */
    bool closed() const { return closed_ && pending_.users().empty(); }

    BulkSender &bulk() { return bulk_; }

private:
    /* What BulkSender asks of the other parts. */
    Epochs::Id begin_user_op(PeerUser &user) override
    {
        ++user.open;
        return order_.begin_op();
    }
    void     user_op_ended(PeerUser *user) override { end_user_op(user, *this); }
    void     end_op(Epochs::Id id) override { order_.end_op(id); }
    bool     bulk_held() const override { return order_.bulk_held(); }
    uint32_t request_keys(const RegionKey &region,
                          const std::shared_ptr<NicKeys> &keys) override
    {
        return keys_.request(region, keys);
    }
    void drop_key_request(uint32_t token) override { keys_.drop(token); }
    void ask_for(const Transfer &transfer) override { rma_.ask_for(transfer); }
    void on_served() override { target_.serve_waiting(); }
    void refuse_get(const wire::OpId &op, ucs_status_t status) override
    {
        target_.refuse(op, status);
    }
    void confirm_get(const Transfer &get) override { target_.confirm(get); }
    bool owes_quiet(uint8_t from, uint8_t own) const override
    {
        return receiver_.owes_drained(from, own);
    }

    /* What the lane and its order tell. */
    void on_first_taken() override { wireup_.on_first_taken(); }
    void on_drained() override;
    void on_room() override { pending_.dispatch(); }
    void on_users_free() override { pending_.dispatch(); }
    void on_bulk_free() override { bulk_.pump(); }

    void handle(const wire::ControlHeader &header, const void *data, size_t length);
    void behind_program(const wire::ControlHeader &header, const void *data,
                        size_t length);
    void handle_behind(const wire::ControlHeader &header, const void *data,
                       size_t length);
    static void now_handled(void *self, const void *data, size_t length);
    ucs_status_t flush_all();
    void on_rail_address(const void *data, size_t length);
    void on_path_broken(const void *data, size_t length);
    void on_peer_carrier(const void *data, size_t length);
    void on_seen(const wire::ControlHeader &header);
    void advance();
    void tear_down();
    void close_lanes();

    DeferredPeers &deferred_;
    bool           closed_ = false;
    bool           is_deferred_ = false;
    uint64_t       rested_at_ = 0; /* fences of the interface then */
    ControlChannel channel_;
    OrderTracker   order_;
    PendingQueue   pending_;
    LaneOps        ops_;
    Endpoints      endpoints_;
    BulkSender     bulk_;
    LocalMemory    memory_;
    OpenGets       gets_;
    KeyExchange    keys_;
    RmaInitiator   rma_;
    RmaTarget      target_;
    BulkReceiver   receiver_;
    Inflow         inflow_;
    Wireup         wireup_;
    Messages       messages_;
    MessagePaths   message_paths_;
    RailNews       news_;
    Cancellation   cancellation_;
    Teardown       teardown_;
    SilenceWatch   silence_;
};

} // namespace fuselink

#endif
