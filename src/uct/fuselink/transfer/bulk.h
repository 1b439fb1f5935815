/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TRANSFER_BULK_H
#define FUSELINK_TRANSFER_BULK_H

#include "../sched/policy.h"
#include "../sched/rate_meter.h"
#include "../ucx.h"
#include "../wire/address.h"
#include "../wire/messages.h"
#include "epochs.h"

#include <deque>
#include <memory>
#include <vector>

namespace fuselink {

class Peer;
class Rail;
class BulkSender;

/** A way for bulk data to one peer: one of our rails to one of its rails. */
struct Path {
    /* Connect-to-ep paths pass through Asked; the others are made Ready at
     * once. */
    enum class State : uint8_t { Idle, Asked, Ready };

    struct Hook {
        uct_pending_req_t req; /* first: UCX gives back a pointer to it */
        Path             *path;
        bool              queued = false;
    };

    Path(BulkSender &sender, Rail &rail, const wire::RailRecord &remote);

    BulkSender      &sender;
    Rail            &rail;
    wire::RailRecord remote;
    State            state = State::Idle;
    uct_ep_h         ep    = nullptr;
    bool             blocked = false; /* no room on the rail */
    bool             connected = false; /* the rail took something, or would */
    Hook             hook;
    sched::Rate      weight; /* reported speed */
    sched::RateMeter meter;
    uint64_t         chunks = 0;

    /* Announcements of chunks of gets; each must follow its chunk on this
     * path and go before the next one. */
    std::deque<wire::ChunkLanded> markers;
};

/** A bulk operation that this process sends. */
struct Transfer {
    enum class Kind : uint8_t { Put, ServeGet };

    Kind              kind = Kind::Put;
    const char       *buffer = nullptr;
    uint64_t          remote = 0;
    size_t            length = 0;
    size_t            assigned = 0;    /* bytes given to paths */
    unsigned          outstanding = 0; /* chunks not acknowledged */
    ucs_status_t      status = UCS_OK;
    uct_completion_t *comp = nullptr;  /* Put: of the user; may be null */
    wire::OpId        op{};            /* ServeGet: the peer's name for it */
    Epochs::Id        epoch = 0;       /* Put */
    sched::Demand     demand;
    bool              queued = false;
};

/**
 * Sends bulk data to one peer over all paths: cuts transfers into chunks,
 * lets the policy choose a path for each, and ends a transfer when every
 * byte is in the peer's memory.
 *
 * Bytes are bound to a path late, when it has room, so that a slow or busy
 * rail simply takes less. One thread at a time (the worker's).
 */
class BulkSender {
public:
    explicit BulkSender(Peer &peer);
    ~BulkSender();

    /** The peer's rails are known: builds the paths. Returns how many. */
    size_t set_table(const wire::RailTable &table);
    bool   has_paths() const { return !paths_.empty(); }
    bool   ready() const { return table_known_; }

    /** Sends length > 0 bytes; comp ends with the last of them. */
    void put(const void *buffer, size_t length, uint64_t remote,
             uct_completion_t *comp);
    void serve_get(const void *buffer, size_t length, uint64_t remote,
                   const wire::OpId &op);

    /** Gives chunks to paths as far as windows allow. */
    void pump();

    /** Connect-to-ep handshake. */
    void on_rail_address(const wire::RailAddr &message,
                         const std::vector<uint8_t> &address);

    void fail(ucs_status_t status);
    bool owns(uct_ep_h ep) const;

    /** True if `ep` belongs to a path that has not carried anything: it never
     *  connected, and nothing is lost with it. */
    bool never_used(uct_ep_h ep) const;
    /** Leaves such a path out, with one warning. Not from a rail's callback.
     *  False if no path remains. */
    bool drop_path(uct_ep_h ep);

    Peer &peer() const { return peer_; }

private:
    struct Chunk {
        uct_completion_t comp; /* first: UCX gives back a pointer to it */
        Transfer        *transfer;
        Path            *path;
        size_t           length;
        Chunk           *next;
    };

    void      start(Transfer *transfer);
    uint32_t  next_home() const;
    bool      connect(Path &path);
    bool      post_chunk(Transfer &transfer, Path &path, size_t length);
    void      chunk_done(Chunk *chunk);
    void      finish(Transfer *transfer);
    bool      send_markers(Path &path);
    void      block(Path &path);
    void      drop_unassigned(Transfer *transfer);
    Chunk    *new_chunk();
    Transfer *new_transfer();
    void      free_transfer(Transfer *transfer);

    static void         on_chunk(uct_completion_t *comp);
    static ucs_status_t on_hook(uct_pending_req_t *req);

    Peer                              &peer_;
    std::vector<std::unique_ptr<Path>> paths_;
    wire::RailTable                    table_; /* of the peer */
    std::vector<uct_ep_h>              inbound_; /* connect-to-ep, from peer */
    std::deque<Transfer *>             queue_; /* with unassigned bytes */
    size_t                             backlog_ = 0; /* those bytes, total */
    bool                               table_known_ = false;
    bool                               pumping_ = false;
    bool                               again_   = false;

    /* Grown in blocks, never shrunk: a chunk is posted per few hundred kB,
     * an allocation each would still cost more than the decision. */
    std::vector<std::unique_ptr<Chunk[]>>    chunk_blocks_;
    Chunk                                   *free_chunks_ = nullptr;
    std::vector<std::unique_ptr<Transfer>>   transfer_pool_;
    std::vector<Transfer *>                  free_transfers_;
};

} // namespace fuselink

#endif
