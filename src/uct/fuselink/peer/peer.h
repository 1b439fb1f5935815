/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_PEER_PEER_H
#define FUSELINK_PEER_PEER_H

#include "../conn/connection.h"
#include "../conn/endpoints.h"
#include "../conn/epochs.h"
#include "../conn/queue_pair.h"
#include "../memory/region_table.h"
#include "../memory/remote_key.h"
#include "../rail/lanes.h"
#include "../rail/pairs.h"
#include "../transfer/bulk.h"
#include "../ucx.h"
#include "../wire/address.h"
#include "../wire/messages.h"
#include "landings.h"
#include "send_ops.h"
#include "spare_ways.h"
#include "user.h"

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace fuselink {

class Engine;
class Rail;
struct Get;

/**
 * One connection to another process's `rails` interface, as seen from here.
 *
 * Messages (the user's and fuselink's own) travel on one lane, the control
 * endpoint, and so stay in order. Bulk data is spread over all paths by
 * BulkSender. The two meet in fence() and flush().
 *
 * A failed peer never recovers: whoever connects again gets another Peer with
 * another session. It stays until nothing refers to it, see closed().
 *
 * One thread at a time (the worker's).
 */
class Peer final : public Connection,
                   public LaneOwner,
                   public TransferOwner,
                   public KeySource,
                   public RxPaths {
public:
    /* Limits of a message without copying, beside those of the rails. */
    static constexpr size_t kMaxUserHeader = 504;
    static constexpr size_t kMaxIov        = 16;

    Peer(Engine &engine, uint64_t uuid, uint32_t session);
    ~Peer();
    Peer(const Peer &)            = delete;
    Peer &operator=(const Peer &) = delete;

    /** Opens the control lane on a rail that both sides have, and says hello
     *  on it. Fails with one line if there is none. With `later`, or from
     *  inside a rail's callback, it only notes the address, and progress does
     *  the rest: tcp takes over the connection on which the message came that
     *  it is just handing out. */
    ucs_status_t connect(const wire::RailTable &address, bool later = false);

    void attach(PeerUser &user);
    /** The endpoint is destroyed: what is left of its operations ends without
     *  telling anybody. */
    void detach(PeerUser &user);

    /** The peer's number for the connection; 0: it has not said hello. */
    uint32_t peer_session() const { return peer_session_; }
    /** Has a control lane, or will have one soon. */
    bool     connected() const
    {
        return control_ != nullptr || (obstacles_ & kConnecting) != 0;
    }
    Engine  &engine() const { return engine_; }
    /** All that it has on rails is among these, or is to be. */
    Endpoints &endpoints() { return endpoints_; }

    /* Operations of a user's endpoint; UCT's contract. The first is here because
     * the edge's only call of it is the path of a short message. */
    ucs_status_t am_short(uint8_t id, uint64_t header, const void *payload,
                          unsigned length)
    {
        if (ucs_unlikely(obstacles_ != 0 || wire::is_own_id(id))) {
            return am_short_otherwise(id, header, payload, length);
        }
        return lane_short(id, header, payload, length);
    }
    ssize_t      am_bcopy(uint8_t id, uct_pack_callback_t pack, void *arg,
                          unsigned flags);
    ucs_status_t am_zcopy(PeerUser &user, uint8_t id, const void *header,
                          unsigned header_len, const uct_iov_t *iov,
                          size_t iovcnt, unsigned flags,
                          uct_completion_t *comp);
    ucs_status_t put_short(const void *buffer, unsigned length,
                           uint64_t remote, RemoteKey &key);
    ssize_t      put_bcopy(uct_pack_callback_t pack, void *arg,
                           uint64_t remote, RemoteKey &key);
    ucs_status_t put_zcopy(PeerUser &user, const uct_iov_t *iov,
                           size_t iovcnt, uint64_t remote,
                           RemoteKey &key, uct_completion_t *comp);
    ucs_status_t get_bcopy(PeerUser &user, uct_unpack_callback_t unpack,
                           void *arg, size_t length, uint64_t remote,
                           RemoteKey &key, uct_completion_t *comp);
    ucs_status_t get_zcopy(PeerUser &user, const uct_iov_t *iov,
                           size_t iovcnt, uint64_t remote,
                           RemoteKey &key, uct_completion_t *comp);
    /** `user` is null for a flush of the whole interface. */
    ucs_status_t flush(PeerUser *user, unsigned flags,
                       uct_completion_t *comp);
    /** `of_interface`: UCP's users ask for one. Then what was sent as a message
     *  counts as well: UCP's atomics are messages. The fence of an endpoint
     *  stands between the data and the notice of a rendezvous, where waiting
     *  for messages would cost a round trip for nothing. */
    ucs_status_t fence(bool of_interface);
    ucs_status_t check(unsigned flags, uct_completion_t *comp);
    ucs_status_t pending_add(PeerUser &user, uct_pending_req_t *req);
    void         pending_purge(PeerUser &user, uct_pending_purge_callback_t cb,
                               void *arg);

    /* Incoming control messages; header.sender is this peer and the session
     * is that of this connection. */
    void on_hello(const wire::Hello &hello, const wire::RailTable &table);
    void on_control(const wire::ControlHeader &header, const void *data,
                    size_t length);

    /** The peer announces a chunk of a get on one of its paths. False if it is
     *  of a connection that has ended. */
    bool on_announced(uint8_t rail, uint8_t own, uint32_t number);
    /** Bytes of a get came over a path. */
    void on_landed(Get &get, uint64_t length);

    void send_control(void *head, size_t head_length,
                      const void *body = nullptr,
                      size_t body_length = 0) override;

    /** A get of the peer has been served. */
    void on_served() override { serve_waiting(); }
    /** Ends a get of the peer that is not served, or no further. */
    void refuse_get(const wire::OpId &op, ucs_status_t status) override;

    /** A rail reports that one of this peer's endpoints is broken. */
    void on_lane_error(uct_ep_h ep, ucs_status_t status) override;

    /** Marks the peer as failed; the rest follows from progress. */
    void fail(ucs_status_t status) override;
    void defer() override;
    /** The same, when the peer itself has given this connection up. */
    void fail_as_told(ucs_status_t status);
    /** The interface closes: all operations end now. */
    void abandon();

    /** What could not be done where it came up: see Engine::defer(). */
    void run_deferred();

    /** The connection that the hello is to go over has not come about yet. */
    bool is_unanswered() const
    {
        return !failed() && !hello_taken_ && !way_failed_ &&
               hello_ != nullptr;
    }
    /** It took too long: tries another one as well. From progress only. */
    void try_another_way();

    /** Failed, and nothing is under way any more nor refers to it. */
    bool closed() const { return closed_ && users_.empty(); }

    /* Bookkeeping of operations that a flush or fence waits for. */
    Epochs::Id begin_op() { return epochs_.begin(); }
    Epochs::Id begin_user_op(PeerUser &user) override
    {
        ++user.open;
        return begin_op();
    }
    void       end_op(Epochs::Id id) override;
    void       end_get(Get &get, ucs_status_t status);
    /** One operation of a user has ended. Call it before the user hears of
     *  it, who may destroy the endpoint then. */
    void       user_op_ended(PeerUser *user) override;

    /** A fence keeps new bulk data back until what went before it on the
     *  control lane has landed. */
    bool bulk_held() const override
    {
        return put_acked_ < bulk_fence_ || lane_fences_ != 0 ||
               lane_fence_due_ || hello_fence_due_;
    }

    /** Asks the peer for the keys of its NICs for a region of its memory;
     *  those that are still unknown. Returns the question's name, 0 if there
     *  was nothing to ask. May fail the peer, and end transfers then. */
    uint32_t request_keys(const RegionKey &region,
                          const std::shared_ptr<NicKeys> &keys) override;
    /** The answer is of no use any more. */
    void drop_key_request(uint32_t token) override
    {
        key_requests_.erase(token);
    }
    /** A get that none of our NICs can do: the peer sends the data. */
    void ask_for(const Transfer &transfer) override;
    /** A chunk is in a slot that was lent to the peer. */
    void on_slot_full(const wire::DataPart &part, const wire::InSlot &in);
    void on_data_part(const wire::DataPart &part, const char *data,
                      size_t length);

    /** It waits to hear that we are quiet on this path of its. */
    bool owes_quiet(uint8_t from, uint8_t own) const override;
    /** What it has on its way to our rail, as it said not long ago. */
    sched::Bytes inflow(size_t rail, sched::Nanos now) const;

    BulkSender &bulk() { return bulk_; }

private:
    /* Reasons not to send now, checked as one branch. */
    enum Obstacle : unsigned {
        kFailed  = 1, /* for good */
        kFenced  = 2, /* earlier bulk operations have not ended */
        kBlocked = 4, /* the control lane has no room */
        kConnecting = 8, /* there is no control lane yet */
        kQueued = 16, /* requests are pending: what comes now is later */
        kWiring = 32, /* there is a lane, but users wait for a better */
    };

    /* A rail of ours and one of the peer that hellos can go over. */
    struct Way {
        Rail            *rail;
        wire::RailRecord remote;
        bool             tried = false;
    };

    struct ControlHook { /* our request on the control lane's pending queue */
        uct_pending_req_t req; /* first: UCX gives back a pointer to it */
        Peer             *peer;
        bool              queued = false;
        bool              running = false; /* inside on_hook() */
    };

    /* Bulk data that comes by a path of the peer's. */
    struct Arrival {
        uint32_t   open = 0; /* number of the chunk that is coming in by parts,
                                plus one */
        bool       of_get = false;
        wire::OpId get{};     /* whose it is, */
        uint64_t   length = 0; /* and what of it is here */
        uint32_t   seen = 0; /* chunks below were announced; */
        uint32_t   from = 0; /* these broke with an earlier connection */
        bool       broken = false; /* the peer waits until it is quiet */
        uint32_t   next = 0;
        unsigned   empty = 0; /* polls in a row that found nothing */
        sched::Nanos after;
    };

    struct FlushOp {
        uct_completion_t  comp; /* first; of the control lane's flush */
        Peer             *peer;
        PeerUser         *owner;
        uct_completion_t *user; /* null once it was told */
        Epochs::Id        boundary;
        uint64_t          put_sn;
        int               waiting;
        bool              wait_epoch;
        bool              wait_puts;
        ucs_status_t      status;
    };

    /* How a failed peer takes its leave, see lifecycle.cc. */
    struct Leave {
        bool       begun      = false;
        bool       abandoned  = false; /* with the interface */
        bool       must_tell  = false; /* the other side may wait for us */
        bool       was_asked  = false; /* it has said goodbye */
        bool       is_stopped = false; /* it puts nothing here any more */
        bool       is_gone    = false; /* nobody listens there */
        bool       broken     = false; /* its path broke with bytes in it */
        bool       said       = false;
        bool       said_stopped = false;
        bool       lane_broken  = false; /* the control lane */
        ucs_status_t lane_status = UCS_OK; /* why, if that was the failure */
        sched::Nanos lane_failed;          /* when */
        bool       had_open     = false; /* operations of ours, when it failed */
        bool       why_said     = false;
        bool       closed_there = false; /* it has closed its interface */
        sched::Nanos until; /* then it ends, come what may */
        sched::Nanos tell_until; /* and then if nothing is open */
        sched::Nanos quiet_at; /* when bytes came last */
        uint64_t   quiet_landings = 0;
        sched::Nanos flush_until; /* 0: the last words are not said */

        /* Another connection, where the control lane is broken. */
        uct_ep_h   ep      = nullptr;
        bool       ep_failed = false;
        size_t     next_way = 0;
        sched::Nanos ep_since;
    };

    /* control lane: peer.cc, ways.cc, wiring.cc */
    uint64_t     common_number() const; /* the same at both ends, any value */
    void         add_ways(const wire::RailTable &address);
    void         add_way(Rail &rail, const wire::RailRecord &remote);
    void         learn_ways(const wire::Hello &hello,
                            const wire::RailTable &table);
    size_t       untried_way() const;
    ucs_status_t connect_now();
    void         use_way(uct_ep_h ep);
    void         leave_way();
    void         next_way();
    void         take_spare();
    void         name_silent_ways();
    bool         shares_lane() const;
    bool         asks_for_lane() const;
    void         start_lane();
    std::optional<RailPair> lane_pair(const wire::RailTable &table,
                                      uint8_t own, uint8_t remote) const;
    void         on_lane_step(const wire::RailAddr &message,
                              const std::vector<uint8_t> &address);
    void         lane_settled();
    uct_rkey_t   lane_rkey(RemoteKey &key);
    ucs_status_t lane_get_status(ucs_status_t status);
    ucs_status_t lane_put_status(ucs_status_t status);
    ssize_t      lane_put_bcopy(uct_pack_callback_t pack, void *arg,
                                uint64_t remote, uct_rkey_t rkey);
    ucs_status_t fence_lane_put();
    ucs_status_t lane_get(PeerUser &user, void *buffer, size_t length,
                          uint64_t remote, Region *region, RemoteKey &key,
                          uct_completion_t *comp);
    ucs_status_t lane_short(uint8_t id, uint64_t header, const void *payload,
                            unsigned length)
    {
        ucs_status_t status = uct_ep_am_short(control_, id, header, payload,
                                              length);
        if (ucs_unlikely(status != UCS_OK)) {
            return rail_status(status);
        }
        unflushed_ = unfenced_ = true;
        return UCS_OK;
    }
    ucs_status_t am_short_otherwise(uint8_t id, uint64_t header,
                                    const void *payload, unsigned length);
    ucs_status_t wrapped_short(uint8_t id, uint64_t header,
                               const void *payload, unsigned length);
    ucs_status_t am_copied(uint8_t id, const void *header,
                           size_t header_length, const uct_iov_t *iov,
                           size_t iovcnt);
    SendOp      &begin_lane_op(bool is_get);
    void         settle_lane_op(SendOp &op, ucs_status_t status,
                                PeerUser &user, uct_completion_t *comp);
    ucs_status_t obstacle_status();
    ucs_status_t rail_status(ucs_status_t status);
    void         fail_with_lane(ucs_status_t status, bool in_call);
    void         say_lane_failed();
    void         note_open();
    bool         awaits_goodbye() const;
    void         say_why();
    bool         try_control(uct_ep_h ep, const void *head,
                             size_t head_length, const void *body,
                             size_t body_length);
    void         stamp(void *head) const;
    void         queue_control(std::vector<uint8_t> message);
    void         block();
    void         on_room();
    void         drain_queue();
    void         dispatch_users();
    void         note_queued();
    void         say_hello();

    /* flush.cc, cancel.cc */
    void         check_waiters();
    void         fence_begun(bool of_messages = true);
    void         flush_lane_for_fence();
    void         end_strict();
    /* For each put or get that has begun. */
    void repeat_fence()
    {
        if (ucs_unlikely(strict_)) {
            strict_repeat();
        }
    }
    void         strict_repeat();
    void         hold_bulk();
    void         request_put_ack();
    bool         puts_open() const { return put_last_ > put_acked_; }
    void         flush_step(FlushOp *op, ucs_status_t status);
    void         end_flush(FlushOp *op, ucs_status_t status);
    void         end_flushes(const PeerUser *owner, ucs_status_t status);
    ucs_status_t cancel(PeerUser &user, uct_completion_t *comp);
    void         cancel_gets(PeerUser &user);
    void         check_cancels();

    /* lifecycle.cc */
    void         begin_leave();
    void         advance_leave();
    bool         take_leave(sched::Nanos now);
    bool         say_goodbye(bool stopped);
    bool         send_goodbye(uct_ep_h ep, int flags);
    uct_ep_h     farewell_lane(sched::Nanos now);
    void         end_gets(ucs_status_t status, bool all);
    bool         gets_open() const;
    bool         gets_over(sched::Nanos now);
    void         tell_users();
    void         close_lanes();
    void         on_goodbye(const wire::ControlHeader &header,
                            const void *data, size_t length);

    /* remote_memory.cc, serve.cc */
    struct PutMessage;
    ucs_status_t put_message(PutMessage &message);
    bool         region_on_gpu(const RegionKey &key);
    bool         take_in(char *to, bool to_gpu, const void *data,
                         size_t length);
    ucs_status_t request_get(PeerUser &user, Get &get, const wire::OpId &op,
                             const Region *region, uint64_t remote,
                             RemoteKey &key);
    void         name_region(wire::GetReq &request, Get &get,
                             const Region *region, bool from_gpu) const;
    void         on_get_request(const void *data, size_t length);
    void         serve_waiting();
    void         serve(const wire::GetReq &request);
    void         on_get_data(const void *data, size_t length);
    void         on_get_done(const void *data, size_t length);
    void         on_get_cancel(const void *data, size_t length);
    void         on_key_request(const void *data, size_t length);
    void         on_key_data(const void *data, size_t length);
    void         on_chunk_ack(const void *data, size_t length);
    void         on_put_data(const void *data, size_t length);
    void         on_flush(const void *data, size_t length, bool is_ack);

    /* Where bytes of bulk data belong. */
    struct PartTarget {
        char      *to     = nullptr;
        bool       on_gpu = false;
        Get       *get    = nullptr; /* if they are of one of ours: `op` */
        wire::OpId op{};
    };
    bool         find_target(const wire::DataPart &part, size_t length,
                             PartTarget &target);
    bool         copy_to(const PartTarget &target, const wire::DataPart &part,
                         const void *data, size_t length);

    /* quiet.cc */
    void         on_path_broken(const void *data, size_t length);
    void         on_path_quiet(const void *data, size_t length);
    void         on_landed_word(const void *data, size_t length);
    void         quieten();
    bool         quiet(uint8_t from, uint8_t own, Arrival &arrival);

    /* lending.cc */
    void         on_slot_ask(const void *data, size_t length);
    void         on_slot_back(const void *data, size_t length);
    void         recall_slots();
    bool         may_still_write() const;
    void         end_lending();

    /* load.cc */
    void         on_load_ask(const void *data, size_t length);
    void         on_load_grant(const void *data, size_t length);

    static ucs_status_t on_hook(uct_pending_req_t *req);
    static void         on_control_flushed(uct_completion_t *comp);
    static void         on_sent(uct_completion_t *comp);

    Engine        &engine_;
    Endpoints      endpoints_;
    uint32_t       peer_session_ = 0;
    unsigned       obstacles_ = 0;
    uct_ep_h       control_   = nullptr; /* hello_ or the one of lane_ */
    uct_ep_h       hello_     = nullptr;
    std::unique_ptr<QueuePair> lane_; /* for rails that connect by name */
    Rail          *rail_      = nullptr; /* of control_ */
    uint8_t        lane_remote_ = 0;     /* index of the peer's rail there */
    bool           lane_puts_   = false; /* puts there since a fence */
    bool           lane_put_fence_ = false; /* a fence since the last put there */
    unsigned       lane_fences_ = 0;     /* flushes for a fence, not ended */
    bool           lane_fence_due_ = false; /* one that has not begun */
    bool           hello_fence_due_ = false; /* see on_hello() */
    bool           table_known_ = false;
    bool           no_paths_    = false; /* fails once hello is said */
    bool           hello_taken_ = false; /* the lane took a message */
    bool           way_failed_  = false; /* and one that did not, never will */
    /* A flush asks the lane only for the user's messages. fuselink's own
     * (answers, hello) would make it wait for a peer that has no reason to
     * make progress any more. */
    bool           unflushed_   = false; /* user messages since a flush */
    bool           unfenced_    = false; /* and since a fence for messages */
    unsigned       flushing_    = 0;     /* lane flushes not ended */
    bool           dispatching_ = false;
    bool           draining_    = false;
    bool           room_later_  = false; /* look for room from progress */
    bool           serving_     = false; /* inside serve_waiting() */
    bool           closed_      = false;

    std::vector<Way>  ways_;          /* best first */
    /* By the peer's rail and ours. */
    std::map<std::pair<uint8_t, uint8_t>, Arrival> arrivals_;
    unsigned          breaks_ = 0; /* of them */
    size_t            way_ = 0;       /* in use: index in ways_ */
    size_t            ways_rails_ = 0; /* rails of the peer that ways_ is from */
    size_t            their_way_ = SIZE_MAX; /* over which its hello came */
    sched::Nanos      way_since_;
    SpareWays         spares_{*this}; /* tried before */
    uint8_t           peer_from_ = 0; /* rails of the peer's lane to us */
    uint8_t           peer_to_   = 0;

    ControlHook                      hook_;
    std::deque<std::vector<uint8_t>> queue_; /* control messages to send */
    size_t                           queue_bytes_ = 0;
    size_t                           answer_bytes_ = 0; /* of them, answers */
    std::deque<wire::GetReq>         unserved_; /* gets that wait for room */
    std::vector<PeerUser *>          users_;
    std::vector<FlushOp *>           flushes_;
    SendOps                          sends_;

    /* Questions for keys, by token. */
    std::unordered_map<uint32_t, std::shared_ptr<NicKeys>> key_requests_;
    uint32_t key_token_ = 0;

    uint64_t                         landings_ = 0; /* chunks of gets */
    Leave                            leave_;

    std::array<sched::Bytes, wire::kLoads> inflow_{};
    sched::Nanos                           inflow_until_;

    Epochs     epochs_;
    Epochs::Id fence_boundary_ = 0;
    /* Small puts sent, and fences for messages. Counts on from the session,
     * so that an answer that belongs to another connection fits nothing
     * here. */
    uint64_t   put_sn_;
    uint64_t   put_last_;      /* the last that was a put */
    uint64_t   put_requested_; /* of those, acknowledgement asked for */
    uint64_t   put_acked_;
    uint64_t   bulk_fence_;    /* bulk data waits until this is acked */
    bool       strict_         = false; /* a fence after each put and get */
    bool       strict_used_    = false;

    BulkSender bulk_;
    Landings   onto_gpu_{*this};
};

} // namespace fuselink

#endif
