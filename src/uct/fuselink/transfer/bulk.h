/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TRANSFER_BULK_H
#define FUSELINK_TRANSFER_BULK_H

#include "../memory/region.h"
#include "../memory/remote_key.h"
#include "../peer/link.h"
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
struct Chunk;

struct Path {
    /* Connect-to-ep paths pass through Asked; the others are made Ready at
     * once. */
    enum class State : uint8_t { Idle, Asked, Ready };

    struct Hook {
        uct_pending_req_t req; /* first: UCX gives back a pointer to it */
        Path             *path;
        bool              queued = false;
        bool              running = false; /* inside on_hook() */
    };

    Path(BulkSender &sender, Rail &rail, const wire::RailRecord &remote);

    bool     link_owns() const { return link && ep == link->ep(); }
    /** The interface of `ep`, in the poller. */
    unsigned poll_index() const;

    BulkSender      &sender;
    Rail            &rail;
    wire::RailRecord remote;
    State            state = State::Idle;
    uct_ep_h         ep    = nullptr; /* of `link`, or our own */
    std::unique_ptr<Link> link;       /* rails that connect by name */
    /* Data goes by messages: the rail has no put, or no queue pair was left
     * for this path. */
    bool             by_messages = false;
    bool             blocked = false; /* no room on the rail */
    bool             connected = false; /* the rail took something, or would */
    Hook             hook;
    sched::Rate      weight; /* reported speed */
    sched::RateMeter meter;
    uint64_t         chunks = 0;

    /* Announcements of chunks of gets; each must follow its chunk on this
     * path and go before the next one. */
    std::deque<wire::ChunkLanded> markers;

    /* Chunks that go by messages: those with parts to send, those whose
     * acknowledgement is awaited; in order. */
    std::deque<Chunk *> parts;
    std::deque<Chunk *> unacked;
    uint32_t            chunk_number = 0;
};

/** A bulk operation that this process sends. */
struct Transfer {
    enum class Kind : uint8_t {
        Put,
        Get,     /* our NICs read the peer's memory */
        ServeGet /* we write what the peer asked for */
    };

    Kind              kind = Kind::Put;
    const char       *buffer = nullptr;
    uint64_t          remote = 0;
    size_t            length = 0;
    size_t            assigned = 0;    /* bytes given to paths */
    unsigned          outstanding = 0; /* chunks not acknowledged */
    ucs_status_t      status = UCS_OK;
    uct_completion_t *comp = nullptr;  /* not ServeGet: of the user, or null */
    wire::OpId        op{};            /* ServeGet: the peer's name for it */
    Epochs::Id        epoch = 0;       /* not ServeGet */
    Region           *region = nullptr; /* not ServeGet: `buffer` is in it */
    RegionKey         remote_region;    /* not ServeGet: `remote` is in it */
    std::shared_ptr<NicKeys> keys;      /* the same, for NICs that need them */
    sched::Demand     demand;
    bool              queued = false;
};

/** A piece of a transfer that is on its way. */
struct Chunk {
    uct_completion_t comp; /* first: UCX gives back a pointer to it */
    Transfer        *transfer;
    Path            *path;
    size_t           length;
    Chunk           *next;
    /* By messages only. */
    size_t           offset;
    size_t           sent;
    uint32_t         number;
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
             Region *region, RemoteKey &key, uct_completion_t *comp);
    /** Reads length > 0 bytes; only if reads(). */
    void get(void *buffer, size_t length, uint64_t remote, Region *region,
             RemoteKey &key, uct_completion_t *comp);
    /** True if some path's NIC can read the peer's memory. */
    bool reads() const { return reads_; }
    void serve_get(const void *buffer, size_t length, uint64_t remote,
                   const wire::OpId &op);

    /** Gives chunks to paths as far as windows allow. */
    void pump();

    /** Connect-to-ep handshake. */
    void on_rail_address(const wire::RailAddr &message,
                         const std::vector<uint8_t> &address);

    /** The peer says that a chunk which went by messages has landed. */
    void on_chunk_ack(const wire::ChunkAck &ack);

    /** The pairs of rails that connect by name; the same at both ends. */
    std::vector<const Path *> named_pairs() const;

    /** The slot of the peer's memory keys for one of its rails. */
    uint8_t memory_slot(uint8_t rail) const;

    /** The peer's rails. */
    const wire::RailTable &table() const { return table_; }

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
    /* How a chunk of a transfer would go on a path. */
    enum class Carry { Not, NotYet, Hardware, Messages };

    void      pair_rails();
    void      add_path(Rail &rail, const wire::RailRecord &remote);
    Carry     carry(Transfer &transfer, Path &path);
    bool      choose(Transfer &transfer, Path *&path, size_t &length,
                     bool &stuck);
    ucs_status_t post_hardware(Transfer &transfer, Path &path, Chunk &chunk);
    bool      send_parts(Path &path);
    void      abandon_parts(Path &path, ucs_status_t status);
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
    bool                               reads_       = false;
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
