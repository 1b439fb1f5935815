/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TRANSFER_BULK_H
#define FUSELINK_TRANSFER_BULK_H

#include "../conn/connection.h"
#include "../conn/endpoints.h"
#include "../conn/epochs.h"
#include "../memory/region.h"
#include "../memory/remote_key.h"
#include "../sched/policy.h"
#include "../ucx.h"
#include "../wire/address.h"
#include "../wire/messages.h"
#include "bulk_context.h"
#include "credits.h"
#include "key_source.h"
#include "path.h"
#include "receiver_view.h"
#include "rx_paths.h"
#include "transfer_owner.h"

#include <deque>
#include <memory>
#include <span>
#include <vector>

namespace fuselink {

class Rail;
class BulkSender;
struct PeerUser;
struct Transfer;

/** A piece of a transfer from memory of a GPU, in a slot of the host's: chunks
 *  are cut from it when it is there. */
struct Staged {
    uct_completion_t comp; /* first: UCX gives back a pointer to it */
    BulkSender      *sender;
    Transfer        *transfer;
    size_t           offset; /* in the transfer */
    size_t           length;
    char            *slot;
    unsigned         users;  /* chunks and pieces that are in it */
    bool             copying;
    bool             passed; /* nothing more will be cut from it */
    Staged          *next;   /* of the transfer, or free */
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
    size_t            assigned = 0;    /* bytes given to paths, */
    size_t            tail = 0;        /* and those from here on: NICs that read
                                          a GPU's memory begin at the end */
    unsigned          outstanding = 0; /* chunks not acknowledged, copies */
    ucs_status_t      status = UCS_OK;
    PeerUser         *user = nullptr;  /* not ServeGet; null once it is gone */
    uct_completion_t *comp = nullptr;  /* not ServeGet: of the user, or null */
    wire::OpId        op{};            /* ServeGet: the peer's name for it */
    RegionKey         own_region;      /* ServeGet: `buffer` is in it */
    Epochs::Id        epoch = 0;       /* not ServeGet */
    Region           *region = nullptr; /* not ServeGet: `buffer` is in it */
    RegionKey         remote_region;    /* `remote` is in it; ServeGet: if an end
                                           is of a GPU and NICs reach it */
    std::shared_ptr<NicKeys> keys;      /* the same, for NICs that need them */
    uint32_t          key_token = 0;    /* ServeGet: of its question for these */
    sched::Demand     demand;
    bool              from_gpu = false; /* `buffer` is memory of a GPU */
    bool              to_gpu = false;   /* `remote` is */
    Staged           *staged = nullptr; /* the piece that is next, and on */
    Staged           *last_staged = nullptr;
    size_t            staged_until = 0; /* bytes whose copy has begun */
    bool              queued = false;
    bool              starting = false; /* inside put() or get() */
    bool              handed_over = false; /* meanwhile, to the peer */
    bool              live = false;

    /** Bytes not given to a path yet. */
    size_t rest() const { return tail - assigned; }
    /** Nothing of it is left to do. */
    bool   over() const { return outstanding == 0 && assigned == tail; }
};

/** A piece of a transfer that is on its way. */
struct Chunk {
    uct_completion_t comp; /* first: UCX gives back a pointer to it */
    Transfer        *transfer;
    Path            *path;
    size_t           length;
    Chunk           *next;
    uint64_t         traced; /* its number in the trace; 0: none */
    Staged          *staged; /* it is of; null: memory of the host */
    size_t           offset; /* in the transfer */
    uint32_t         number; /* on its path, of those that tell the peer */
    uint8_t          tries;  /* paths that broke with it */
    bool             by_messages; /* only then what follows */
    size_t           sent;
    bool             in_slot; /* lent by the peer; only then what follows */
    bool             left;    /* the NIC has done its part */
    uint8_t          waits;   /* for its put, for the peer's word */
    SlotLoan         loan;
    ucs_status_t     status;
};

/** Bytes that were lost with their path, to be sent another way. The transfer
 *  counts it as outstanding. */
struct Piece {
    Transfer *transfer;
    size_t    offset;
    size_t    length;
    uint8_t   tries;
    Staged   *staged; /* of a GPU: null until its copy begins */
};

/**
 * Sends bulk data to one peer over all paths: cuts transfers into chunks,
 * lets the policy choose a path for each, and ends a transfer when every
 * byte is in the peer's memory.
 *
 * Bytes are bound to a path late, when it has room, so that a slow or busy
 * rail simply takes less. One thread at a time (the worker's).
 */
class BulkSender final : public RoomWaiter {
public:
    /** All outlive this. */
    BulkSender(Connection &connection, Endpoints &endpoints,
               TransferOwner &owner, KeySource &keys, const RxPaths &rx,
               const BulkContext &context);
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
    /** Sends what the peer asked for, from memory of `region`; from or to memory
     *  of a GPU, to what NICs reach as `to_region`, if they do. */
    void serve_get(const void *buffer, size_t length, uint64_t remote,
                   const wire::OpId &op, const RegionKey &region,
                   bool from_gpu, bool to_gpu, const RegionKey &to_region);
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

    /** The peer says what others send to its rails. */
    void on_grant(const wire::LoadGrant &grant);

    /* The peer lends slots of its memory, and wants some back. */
    void on_slot_grant(const void *data, size_t length);
    void on_slot_recall(const void *data, size_t length);

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

    /** The peer is quiet on a path that broke. */
    void on_path_quiet(const wire::PathQuiet &message);
    /** The peer's end of a connection by name is gone. */
    void on_peer_broke(uint8_t own, uint8_t remote);
    /** Nothing is left of ours that others could reach. */
    bool torn_down(uint8_t own, uint8_t remote) const;

    /** A path is broken. False if it is none of ours. */
    bool on_path_error(uct_ep_h ep, ucs_status_t status);
    /** The other end of one that the peer had made by name. */
    void drop_inbound(uint8_t own, uint8_t remote);
    /** Leaves paths out that did not connect, with a warning for each, and
     *  mends what broke, and looks for room. Not from a rail's callback. False
     *  if no path remains. */
    bool run_deferred();

    const Connection &connection() const { return connection_; }

    /* For plans over all peers. */

    const std::vector<std::unique_ptr<Path>> &paths() const { return paths_; }
    /** It did not fail to connect, and is no standby that others replace. */
    bool in_play(const Path &path) const;
    /** Bytes that wait for a path. */
    size_t backlog() const { return backlog_; }
    /** How to divide the backlog, by path that is in_play(). */
    void take_plan(std::span<const double> split);
    void drop_plan() { planned_ = false; }

    void on_room() override { pump(); }

private:
    /* How a chunk of a transfer would go on a path. */
    enum class Carry { Not, NotYet, Hardware, Messages, Slot };

    /* The next chunk of a transfer. Without a path: none for now, or, if
     * `stuck`, none ever. */
    struct Pick {
        Path  *path   = nullptr;
        size_t length = 0;
        Carry  how    = Carry::Not;
        bool   direct = false; /* the NIC reads the GPU's memory */
        bool   stuck  = false;
        bool   none   = false; /* of the paths that are whole could carry it,
                                  as it is: another transfer's bytes may go
                                  there, which may have what it waits for */
    };

    bool      any_usable() const;
    void      add_path(Rail &rail, const wire::RailRecord &remote);
    Carry     carry(Transfer &transfer, Path &path);
    Pick      choose(Transfer &transfer, const Piece *piece = nullptr);
    ucs_status_t post_hardware(Transfer &transfer, Path &path, Chunk &chunk);
    const char *data(const Chunk &chunk) const;
    void      ask_for_slots();
    void      give_back_slots();
    Carry     carry_to_gpu(Transfer &transfer, const Path &path);
    bool      opens(Transfer &transfer, const Path &path);
    bool      awaits_key(const Transfer &transfer, const Path &path) const;
    static uct_rkey_t remote_key(NicKeys &keys, const Path &path);
    template <typename Fn>
    void      with_own_region(const Transfer &transfer, Fn &&fn) const;
    uct_mem_h own_handle(const Transfer &transfer, const Path &path) const;
    uct_mem_h gpu_handle(const Transfer &transfer, const Path &path) const;
    uct_mem_h slots_handle(const Path &path) const;
    bool      reads_source(const Transfer &transfer, const Path &path) const;
    ucs_status_t put_chunk(Chunk &chunk, uint64_t to, uct_rkey_t rkey);
    bool      may_read_copy(const Path &path, Carry how) const;
    bool      direct_way(const Transfer &transfer, const Path &path,
                         Carry how) const;
    bool      may_read_gpu(const Transfer &transfer, const Path &path,
                           Carry how) const;
    void      cut_staged(const Transfer &transfer, Pick &pick) const;
    void      cut_direct(const Transfer &transfer, Pick &pick) const;
    void      take_from_end(Transfer &transfer, size_t length);
    size_t    for_direct(Transfer &transfer);
    ucs_status_t post_to_slot(Path &path, Chunk &chunk);
    void      put_done(Chunk *chunk);
    void      slot_step(Chunk *chunk, ucs_status_t status);
    void      room_again();
    size_t    piece_length() const;
    size_t    most_ahead() const;
    void      copy_ahead();
    Staged   *new_staged(Transfer &transfer, size_t offset, size_t length);
    void      copy(Staged &staged);
    void      release_staged(Staged *staged);
    void      copied(Staged &staged);
    void      take_from(Transfer &transfer, size_t length);
    void      let_go(Staged &staged);
    void      drop_staged(Transfer &transfer);
    void      await_copies();
    bool      send_parts(Path &path);
    void      abandon_parts(Path &path, ucs_status_t status);
    void      start(Transfer *transfer);
    ucs_status_t begin(Transfer::Kind kind, PeerUser &user,
                       const void *buffer, size_t length, uint64_t remote,
                       Region *region, const RemoteKey &key,
                       uct_completion_t *comp);
    void      hand_over(Transfer *transfer);
    void      leave_out(Path &path);
    bool      remove_left_out();
    void      not_connected(Path &path, ucs_status_t status);
    void      break_path(Path &path, ucs_status_t status);
    void      post_failed(Path &path, ucs_status_t status);
    bool      lose(Chunk *chunk);
    void      off_path(Chunk &chunk, bool arrived);
    void      mended(Path &path);
    void      send_again();
    void      requeue(Chunk *chunk);
    void      end_lost(Path &path, ucs_status_t status);
    void      drop_pieces(Transfer &transfer);
    void      copy_pieces();
    bool      mend();
    void      mend(Path &path, sched::Nanos now);
    void      take_last(const Path &path);
    void      tear_down(Path &path);
    void      revive(sched::Nanos now);
    bool      waits() const { return !queue_.empty() || !again_queue_.empty(); }
    bool      ask(Path &path);
    void      take_reply(const wire::RailAddr &message,
                         const std::vector<uint8_t> &address);
    void      answer(const wire::RailAddr &message,
                     const std::vector<uint8_t> &address);
    uint32_t  next_home() const;
    void      ask_for_load(sched::Nanos now);
    bool      connect(Path &path);
    bool      post_chunk(Transfer &transfer, const Pick &pick,
                         const Piece *piece = nullptr);
    void      note_posted(const Transfer &transfer, Chunk &chunk,
                          int64_t since);
    void      chunk_done(Chunk *chunk);
    void      finish(Transfer *transfer);
    bool      send_markers(Path &path);
    bool      send_waiting(Path &path);
    void      block(Path &path);
    void      drop_unassigned(Transfer *transfer);
    void      stop(Transfer *transfer, ucs_status_t status);
    bool      still_there(const Transfer &transfer, size_t offset,
                          size_t length) const;
    bool      still_there(const Transfer &transfer) const
    {
        return still_there(transfer, transfer.assigned, transfer.rest());
    }
    Chunk    *new_chunk();
    void      free_chunk(Chunk *chunk);
    Transfer *new_transfer();
    void      free_transfer(Transfer *transfer);

    static bool         is_calls_error(ucs_status_t status);
    static bool         cancel(uct_ep_h ep);
    static void         on_chunk(uct_completion_t *comp);
    static void         on_put(uct_completion_t *comp);
    static void         on_copied(uct_completion_t *comp);
    static ucs_status_t on_hook(uct_pending_req_t *req);

    Connection                        &connection_;
    Endpoints                         &endpoints_;
    TransferOwner                     &owner_;
    KeySource                         &keys_;
    const RxPaths                     &rx_;
    const BulkContext                  env_;
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
    std::deque<Piece>                  again_queue_; /* goes first */
    size_t                             backlog_ = 0; /* bytes that wait */
    size_t                             serving_ = 0;   /* transfers */
    size_t                             in_flight_ = 0; /* chunks */
    size_t                             copying_ = 0;   /* pieces */
    size_t                             ahead_ = 0;     /* not passed */
    std::deque<Transfer *>             to_copy_; /* not all of them is staged */
    bool                               broken_ = false;
    /* Paths that did not connect, of which the user has not heard. */
    struct LeftOut {
        std::string  rail;
        std::string  remote;
        sched::Nanos say_at; /* unless the peer has gone by then */
    };
    std::vector<LeftOut>               unsaid_;
    bool                               out_    = false; /* some path is, or
                                                           such a one is here */
    bool                               retry_  = false; /* some path does */
    bool                               later_  = false; /* pump from progress */
    bool                               starved_ = false; /* something waits for
                                                            which no path is */
    bool                               streams_ = false; /* some path is one */
    unsigned                           mending_ = 0; /* paths that broke */
    bool                               planned_ = false; /* what waits */
    bool                               table_known_ = false;
    bool                               asked_ = false; /* for the peer's load */
    sched::Nanos                       next_ask_;
    ReceiverView                       receiver_;
    /* Slots that the peer has lent us. */
    Credits                            credits_;
    uint64_t                           slots_base_ = 0;
    size_t                             slots_size_ = 0;
    RegionKey                          slots_region_;
    std::shared_ptr<NicKeys>           slots_keys_;
    bool                               asked_slots_ = false;
    size_t                             slots_keep_  = SIZE_MAX; /* no more */
    bool                               reads_       = false;
    bool                               pumping_ = false;
    bool                               again_   = false;
    sched::PathView                    seen_; /* of the choice, if traced */

    /* Grown in blocks, never shrunk: a chunk is posted per few hundred kB,
     * an allocation each would still cost more than the decision. */
    std::vector<std::unique_ptr<Chunk[]>>    chunk_blocks_;
    Chunk                                   *free_chunks_ = nullptr;
    std::vector<std::unique_ptr<Staged>>     staged_pool_;
    Staged                                  *free_staged_ = nullptr;
    std::vector<std::unique_ptr<Transfer>>   transfer_pool_;
    std::vector<Transfer *>                  free_transfers_;
};

} // namespace fuselink

#endif
