/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TRANSFER_BULK_H
#define FUSELINK_TRANSFER_BULK_H

#include "../memory/region.h"
#include "../memory/remote_key.h"
#include "../sched/policy.h"
#include "../ucx.h"
#include "../wire/address.h"
#include "../wire/messages.h"
#include "epochs.h"
#include "path.h"

#include <deque>
#include <memory>
#include <vector>

namespace fuselink {

class Peer;
class Rail;
class BulkSender;
struct PeerUser;

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
    PeerUser         *user = nullptr;  /* not ServeGet; null once it is gone */
    uct_completion_t *comp = nullptr;  /* not ServeGet: of the user, or null */
    wire::OpId        op{};            /* ServeGet: the peer's name for it */
    RegionKey         own_region;      /* ServeGet: `buffer` is in it */
    Epochs::Id        epoch = 0;       /* not ServeGet */
    Region           *region = nullptr; /* not ServeGet: `buffer` is in it */
    RegionKey         remote_region;    /* not ServeGet: `remote` is in it */
    std::shared_ptr<NicKeys> keys;      /* the same, for NICs that need them */
    sched::Demand     demand;
    bool              queued = false;
    bool              starting = false; /* inside put() or get() */
    bool              handed_over = false; /* meanwhile, to the peer */
    bool              live = false;

    /** Nothing of it is left to do. */
    bool over() const { return outstanding == 0 && assigned == length; }
};

/** A piece of a transfer that is on its way. */
struct Chunk {
    uct_completion_t comp; /* first: UCX gives back a pointer to it */
    Transfer        *transfer;
    Path            *path;
    size_t           length;
    Chunk           *next;
    bool             by_messages; /* only then what follows */
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

    /** Sends length > 0 bytes; comp ends with the last of them. If that is
     *  before the return, the status is returned instead. */
    ucs_status_t put(PeerUser &user, const void *buffer, size_t length,
                     uint64_t remote, Region *region, const RemoteKey &key,
                     uct_completion_t *comp)
    {
        return begin(Transfer::Kind::Put, user, buffer, length, remote,
                     region, key, comp);
    }
    /** Reads length > 0 bytes; only if reads(). */
    ucs_status_t get(PeerUser &user, void *buffer, size_t length,
                     uint64_t remote, Region *region, const RemoteKey &key,
                     uct_completion_t *comp)
    {
        return begin(Transfer::Kind::Get, user, buffer, length, remote,
                     region, key, comp);
    }
    /** True if some path carries bulk data by messages, or may come to. */
    bool may_use_messages() const;
    /** True if some path's NIC can read the peer's memory. */
    bool reads() const { return reads_; }
    /** Sends what the peer asked for, from memory of `region`. */
    void serve_get(const void *buffer, size_t length, uint64_t remote,
                   const wire::OpId &op, const RegionKey &region);
    /** The peer does not want this get any more. It is told when nothing of
     *  it is under way. False if it is not known (any more). */
    bool stop_serving(const wire::OpId &op);
    /** Gets that are served. */
    size_t serving() const { return serving_; }
    /** True if gets are answered by puts into our memory, on some path. */
    bool written_in_place() const;

    /** Ends the puts and gets of one user: what is under way arrives. */
    void cancel(const PeerUser &user);
    /** The same, and nobody is told. */
    void forget(const PeerUser &user);

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

    /* How it ends: the peer has failed. */

    /** Drops all that was not given to a path, or goes by messages. */
    void fail(ucs_status_t status);
    /** Ends what is under way: on paths that carry nothing for the peer's
     *  gets, or on all. Not from a rail's callback. */
    void cancel_in_flight(bool all);
    /** A path broke that may have had bytes of a get in it. */
    bool broken() const { return broken_; }
    /** Nothing is under way. */
    bool idle() const { return in_flight_ == 0; }
    void close();

    /** A path is broken. True if it has not carried anything: then it never
     *  connected, nothing is lost with it, and it will be left out. */
    bool on_path_error(uct_ep_h ep);
    /** Leaves paths out that did not connect, with a warning for each, and
     *  looks for room. Not from a rail's callback. False if no path
     *  remains. */
    bool run_deferred();

    Peer &peer() const { return peer_; }

private:
    /* How a chunk of a transfer would go on a path. */
    enum class Carry { Not, NotYet, Hardware, Messages };

    /* The next chunk of a transfer. Without a path: none for now, or, if
     * `stuck`, none ever. */
    struct Pick {
        Path  *path   = nullptr;
        size_t length = 0;
        Carry  how    = Carry::Not;
        bool   stuck  = false;
    };

    void      pair_rails();
    void      add_path(Rail &rail, const wire::RailRecord &remote);
    Carry     carry(Transfer &transfer, Path &path);
    Pick      choose(Transfer &transfer);
    ucs_status_t post_hardware(Transfer &transfer, Path &path, Chunk &chunk);
    bool      send_parts(Path &path);
    void      abandon_parts(Path &path, ucs_status_t status);
    void      start(Transfer *transfer);
    ucs_status_t begin(Transfer::Kind kind, PeerUser &user,
                       const void *buffer, size_t length, uint64_t remote,
                       Region *region, const RemoteKey &key,
                       uct_completion_t *comp);
    void      hand_over(Transfer *transfer);
    void      leave_out(Path &path);
    bool      ask(Path &path);
    void      take_reply(const wire::RailAddr &message,
                         const std::vector<uint8_t> &address);
    void      answer(const wire::RailAddr &message,
                     const std::vector<uint8_t> &address);
    uint32_t  next_home() const;
    bool      connect(Path &path);
    void      post_chunk(Transfer &transfer, const Pick &pick);
    void      chunk_done(Chunk *chunk);
    void      finish(Transfer *transfer);
    bool      send_markers(Path &path);
    bool      send_waiting(Path &path);
    void      block(Path &path);
    void      drop_unassigned(Transfer *transfer);
    void      stop(Transfer *transfer, ucs_status_t status);
    bool      still_there(const Transfer &transfer) const;
    Chunk    *new_chunk();
    void      free_chunk(Chunk *chunk);
    Transfer *new_transfer();
    void      free_transfer(Transfer *transfer);

    static void         on_chunk(uct_completion_t *comp);
    static ucs_status_t on_hook(uct_pending_req_t *req);

    Peer                              &peer_;
    std::vector<std::unique_ptr<Path>> paths_;
    wire::RailTable                    table_; /* of the peer */
    /* Connect-to-ep endpoints of the peer's paths, with their rails. */
    struct Inbound {
        uint8_t  rail;
        uint8_t  from;
        uct_ep_h ep;
    };
    std::vector<Inbound>               inbound_;
    std::deque<Transfer *>             queue_; /* with unassigned bytes */
    size_t                             backlog_ = 0; /* those bytes, total */
    size_t                             serving_ = 0;   /* transfers */
    size_t                             in_flight_ = 0; /* chunks */
    bool                               broken_ = false;
    bool                               out_    = false; /* some path is */
    bool                               retry_  = false; /* some path does */
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
