/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_PEER_PEER_H
#define FUSELINK_PEER_PEER_H

#include "../memory/region_table.h"
#include "../memory/remote_key.h"
#include "../transfer/bulk.h"
#include "../transfer/epochs.h"
#include "../ucx.h"
#include "../wire/address.h"
#include "../wire/messages.h"

#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

namespace fuselink {

class Engine;
class Rail;
struct Get;

/** What a user's endpoint leaves with its peer. Several endpoints may share
 *  one peer; each owns its pending queue and its error report. */
struct PeerUser {
    uct_ep_h         ep = nullptr;
    ucs_queue_head_t pending;
    uint64_t         queued = 0; /* requests that ever came into it */
    uint64_t         taken  = 0; /* and left it */
    uint64_t         fenced = 0; /* `queued` at the last fence */
    bool             aside  = false; /* UCP took requests out */
};

/**
 * Another process's `rails` interface, as seen from here.
 *
 * Messages (the user's and fuselink's own) travel on one lane, the control
 * endpoint, and so stay in order. Bulk data is spread over all paths by
 * BulkSender. The two meet in fence() and flush().
 *
 * One thread at a time (the worker's).
 */
class Peer {
public:
    /* Limits of a message without copying, beside those of the rails. */
    static constexpr size_t kMaxUserHeader = 504;
    static constexpr size_t kMaxIov        = 16;

    Peer(Engine &engine, uint64_t uuid);
    ~Peer();
    Peer(const Peer &)            = delete;
    Peer &operator=(const Peer &) = delete;

    /** Opens the control lane on a rail that both sides have, and says hello
     *  on it. Fails with one line if there is none. From inside a rail's
     *  callback it only notes the address, and progress does the rest: tcp
     *  takes over the connection on which the message came that it is just
     *  handing out. */
    ucs_status_t connect(const wire::RailTable &address);

    void attach(PeerUser &user);
    void detach(PeerUser &user);
    bool has_users() const { return !users_.empty(); }

    uint64_t uuid() const { return uuid_; }
    /** Has a control lane, or will have one soon. */
    bool     connected() const
    {
        return control_ != nullptr || (obstacles_ & kConnecting) != 0;
    }
    bool     failed() const { return failed_ != UCS_OK; }
    Engine  &engine() const { return engine_; }

    /* Operations of a user's endpoint; UCT's contract. */
    ucs_status_t am_short(uint8_t id, uint64_t header, const void *payload,
                          unsigned length);
    ssize_t      am_bcopy(uint8_t id, uct_pack_callback_t pack, void *arg,
                          unsigned flags);
    ucs_status_t am_zcopy(uint8_t id, const void *header, unsigned header_len,
                          const uct_iov_t *iov, size_t iovcnt, unsigned flags,
                          uct_completion_t *comp);
    ucs_status_t put_short(const void *buffer, unsigned length,
                           uint64_t remote, RemoteKey &key);
    ssize_t      put_bcopy(uct_pack_callback_t pack, void *arg,
                           uint64_t remote, RemoteKey &key);
    ucs_status_t put_zcopy(const uct_iov_t *iov, size_t iovcnt,
                           uint64_t remote, RemoteKey &key,
                           uct_completion_t *comp);
    ucs_status_t get_bcopy(uct_unpack_callback_t unpack, void *arg,
                           size_t length, uint64_t remote,
                           RemoteKey &key, uct_completion_t *comp);
    ucs_status_t get_zcopy(const uct_iov_t *iov, size_t iovcnt,
                           uint64_t remote, RemoteKey &key,
                           uct_completion_t *comp);
    ucs_status_t flush(unsigned flags, uct_completion_t *comp);
    ucs_status_t fence();
    ucs_status_t check(unsigned flags, uct_completion_t *comp);
    ucs_status_t pending_add(PeerUser &user, uct_pending_req_t *req);
    void         pending_purge(PeerUser &user, uct_pending_purge_callback_t cb,
                               void *arg);

    /* Incoming control messages; header.sender is this peer. */
    void on_hello(const wire::RailTable &table, bool want_reply);
    void on_control(const wire::ControlHeader &header, const void *data,
                    size_t length);

    /** A fuselink message on the control lane; queued if the lane is full. */
    void send_control(const void *head, size_t head_length,
                      const void *body = nullptr, size_t body_length = 0);

    /** True if `ep` is one of this peer's lower endpoints. */
    bool owns(uct_ep_h ep) const;

    /** A rail reports that one of this peer's endpoints is broken. */
    void on_lane_error(uct_ep_h ep, ucs_status_t status);

    /** Marks the peer as failed; the rest follows from progress. */
    void fail(ucs_status_t status);

    /** What could not be done where it came up: see Engine::defer(). */
    void run_deferred();

    /* Bookkeeping of operations that a flush or fence waits for. */
    Epochs::Id begin_op() { return epochs_.begin(); }
    void       end_op(Epochs::Id id);
    void       end_get(Get &get, ucs_status_t status);

    /** A fence keeps new bulk data back until what went before it on the
     *  control lane has landed. */
    bool bulk_held() const
    {
        return put_acked_ < bulk_fence_ || lane_fences_ != 0 ||
               lane_fence_due_;
    }

    /** Asks the peer for the keys of its NICs for a region of its memory;
     *  those that are still unknown. */
    void request_keys(const RegionKey &region,
                      const std::shared_ptr<NicKeys> &keys);
    /** A get that none of our NICs can do: the peer sends the data. */
    void ask_for(const Transfer &transfer);
    void on_data_part(const wire::DataPart &part, const char *data,
                      size_t length);

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

    /* Which rails may carry the control lane: best first. */
    enum class LaneChoice {
        Near,   /* their own route leads to the peer's NIC, and they are near */
        Routed, /* their own route leads there */
        Any,    /* the kernel gets there somehow */
    };

    struct ControlHook { /* our request on the control lane's pending queue */
        uct_pending_req_t req; /* first: UCX gives back a pointer to it */
        Peer             *peer;
        bool              queued = false;
        bool              running = false; /* inside on_hook() */
    };

    struct FlushOp {
        uct_completion_t  comp; /* first; of the control lane's flush */
        Peer             *peer;
        uct_completion_t *user;
        Epochs::Id        boundary;
        uint64_t          put_sn;
        int               waiting;
        bool              wait_epoch;
        bool              wait_puts;
        ucs_status_t      status;
    };

    ucs_status_t connect_now();
    void         start_lane();
    void         on_lane_step(const wire::RailAddr &message,
                              const std::vector<uint8_t> &address);
    void         lane_settled();
    uct_rkey_t   lane_rkey(RemoteKey &key);
    ucs_status_t lane_rma_status(ucs_status_t status);
    ucs_status_t lane_get(void *buffer, size_t length, uint64_t remote,
                          Region *region, RemoteKey &key,
                          uct_completion_t *comp);
    void         flush_lane_for_fence();
    void         on_key_request(const void *data, size_t length);
    void         on_key_data(const void *data, size_t length);
    void         on_chunk_ack(const void *data, size_t length);
    bool         connect_over(const wire::RailRecord &remote,
                              LaneChoice choice, bool &tried);
    ucs_status_t obstacle_status();
    ucs_status_t rail_status(ucs_status_t status);
    bool         try_control(const void *head, size_t head_length,
                             const void *body, size_t body_length);
    void         block();
    void         arm_hook();
    void         on_room();
    void         drain_queue();
    void         dispatch_users();
    void         note_queued();
    void         check_waiters();
    void         fence_begun();
    void         end_strict();
    /* For each put or get that has begun. */
    void repeat_fence()
    {
        if (ucs_unlikely(strict_)) {
            strict_repeat();
        }
    }
    void         strict_repeat();
    void         say_hello(bool want_reply);
    void         request_put_ack();
    void         flush_step(FlushOp *op, ucs_status_t status);
    void         cancel();
    void         finish_failure();

    ucs_status_t request_get(Get &get, const wire::OpId &op, uint64_t local,
                             uint64_t remote, RemoteKey &key);
    void         on_get_request(const void *data, size_t length);
    void         on_get_data(const void *data, size_t length);
    void         on_get_done(const void *data, size_t length);
    void         on_put_data(const void *data, size_t length);
    void         on_flush(const void *data, size_t length, bool is_ack);

    static ucs_status_t on_hook(uct_pending_req_t *req);
    static void         on_control_flushed(uct_completion_t *comp);

    Engine        &engine_;
    const uint64_t uuid_;
    unsigned       obstacles_ = 0;
    uct_ep_h       control_   = nullptr; /* hello_ or the one of lane_ */
    uct_ep_h       hello_     = nullptr;
    std::unique_ptr<Link> lane_; /* for rails that connect by name */
    Rail          *rail_      = nullptr; /* of control_ */
    uint8_t        lane_remote_ = 0;     /* index of the peer's rail there */
    bool           lane_rma_    = false; /* puts, gets there since a fence */
    unsigned       lane_fences_ = 0;     /* flushes for a fence, not ended */
    bool           lane_fence_due_ = false; /* one that has not begun */
    ucs_status_t   failed_    = UCS_OK;
    bool           table_known_ = false;
    bool           no_paths_    = false; /* fails once hello is said */
    /* A flush asks the lane only for the user's messages. fuselink's own
     * (answers, hello) would make it wait for a peer that has no reason to
     * make progress any more. */
    bool           unflushed_   = false; /* user messages since a flush */
    unsigned       flushing_    = 0;     /* lane flushes not ended */
    bool           dispatching_ = false;
    bool           failure_done_ = false;
    wire::RailTable address_; /* to connect to */
    std::vector<uct_ep_h> unreached_; /* bulk endpoints that never connected */

    ControlHook                      hook_;
    std::deque<std::vector<uint8_t>> queue_; /* control messages to send */
    std::vector<PeerUser *>          users_;
    std::vector<FlushOp *>           flushes_;

    /* Questions for keys, by token. */
    std::unordered_map<uint32_t, std::shared_ptr<NicKeys>> key_requests_;
    uint32_t key_token_ = 0;

    Epochs     epochs_;
    Epochs::Id fence_boundary_ = 0;
    uint64_t   put_sn_         = 0; /* small puts sent */
    uint64_t   put_requested_  = 0; /* of those, acknowledgement asked for */
    uint64_t   put_acked_      = 0;
    uint64_t   bulk_fence_     = 0; /* bulk data waits until this is acked */
    bool       strict_         = false; /* a fence after each put and get */
    bool       strict_used_    = false;

    BulkSender bulk_;
};

} // namespace fuselink

#endif
