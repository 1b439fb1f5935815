/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TRANSFER_PATH_H
#define FUSELINK_TRANSFER_PATH_H

#include "../../../ucs_ext/board.h"
#include "../conn/endpoint_check.h"
#include "../conn/queue_pair.h"
#include "../conn/side_lanes.h"
#include "../conn/stream_watch.h"
#include "../fifo.h"
#include "../sched/rate_meter.h"
#include "../ucx.h"
#include "../wire/address.h"
#include "../wire/messages.h"
#include "path_health.h"
#include "unacked_chunks.h"

#include <memory>

namespace fuselink {

class Host;
class LoadView;
class PathRoom;
class RoomQueue;
struct Wire;
struct Chunk;

/** A way for bulk data to one peer: one of our rails to one of its rails. Belongs to
 *  a PathSet; what is in it, and whose each member is, stands beside each. */
struct Path {
    enum class State : uint8_t {
        Idle,
        Asked,   /* connect-to-ep paths only */
        Ready,
        Out,     /* did not connect, about to be removed */
        Broken,  /* what is under way ends */
        Draining, /* the peer is to say that it is drained: path_recovery.h */
        Backoff, /* connects again later */
    };

    struct Hook {
        uct_pending_req_t req; /* first: UCX gives back a pointer to it */
        Path             *path;
        PathRoom         *room;
        bool              queued = false;
        bool              running = false; /* inside its callback */
    };

    /** Whether the rail takes something: PathRoom's. */
    struct Room {
        bool blocked = false; /* no room on the rail */
        bool connected = false; /* the rail took something, or would */
        bool retry  = false; /* look for room from progress */
        Hook hook{};
    };

    /** When it breaks: PathRecovery's. */
    struct Recovery {
        /** Of a path: something of this side went over it, or was to; it was a pair on
         *  which nothing did; it was a pair that was not ready yet. */
        enum class Use : uint8_t { Ours, None, Unready };

        bool         broken = false; /* the rail said so */
        bool         silent = false; /* its wire is, as we found out; */
        bool         alone = false; /* or is not, and it did not connect by chance, */
        bool         left_behind = false; /* or its kernel waits for too long */
        bool         cancelled = false;
        bool         out = false; /* it broke, and has carried nothing since; */
        bool         ours = false; /* something of this side was to go over it then */
        Use          use = Use::Ours; /* when it broke */
        bool         had_link = true; /* when that was last looked at */
        bool         unlinked = false; /* it was left for that */
        /* Since data of this side last arrived over it, and pairs in a row that did not
         * connect. Who is only read from learns no more than that one is ready. */
        unsigned     breaks       = 0;
        unsigned     vain_breaks  = 0;
        unsigned     in_a_row() const { return breaks + vain_breaks; }
        void         end_row() { breaks = vain_breaks = 0; }
        ucs_status_t why = UCS_OK;
        sched::Nanos until; /* what it waits for may take so long */
        sched::Nanos rests_until; /* of the last break that counts */

        /** Fuselink, a NIC or a kernel has heard nothing: what was on it is not to blame.
         *  Of a key that is not valid any more the other NIC says so. */
        bool lost_its_wire() const
        {
            return silent || unlinked || why == UCS_ERR_ENDPOINT_TIMEOUT ||
                   why == UCS_ERR_TIMED_OUT;
        }
    };

    /** Of bytes that wait at the kernel; Kernel: nobody has told it. */
    enum class Keeps : uint8_t { Kernel, Few, Many };

    /** Of the stream, or whatever the path is: SilenceWatch's. */
    struct Stream {
        StreamWatch   watch;
        Wire         *wire = nullptr; /* that it goes over, when it was looked up */
        uint64_t      posted = 0, ends = 0; /* of chunks, counted */
        SocketAddress here;     /* where it begins, when that is known */
        /* Looks that must find nothing at the kernel, or answers of the NIC, before the
         * last notice is known to have come: PathSet::note_notice(). */
        unsigned      unconfirmed = 0;
        EndpointCheck check; /* of what is no stream */
        /* The last that was tried did not connect, or the peer's did not: the next is not
         * waited for as long. */
        bool          unanswered = false;
        bool          was_up = false; /* it has connected, now or before */
        Keeps         keeps = Keeps::Kernel; /* SendBuffers' */
    };

    /** Messages of users that went over it: MessagePaths'. */
    struct Messages {
        uct_ep_h   ep = nullptr; /* the last that took one; */
        uint64_t   acked = 0; /* of its bytes, by the last look */
        MessagePin pin;
    };

    /** Where it is noted what is in flight. */
    struct Books {
        const Host &host; /* the clock */
        LoadView   &loads;
        RoomQueue  &room_queue;
    };

    Path(Rail &rail, const wire::RailRecord &remote, const Books &books);
    ~Path();

    /* A chunk begins on the path; it has arrived, or never will. */
    void posted(sched::Bytes length);
    void ended(sched::Bytes length, bool arrived,
               Direction direction = Direction::Out);
    bool     usable() const { return state < State::Out; }
    /** What it would carry if it had its NIC for itself. */
    sched::Rate full_rate() const;

    /** Neither end is known to have no link. */
    bool     has_link() const { return rail.carrier && !remote_down; }
    bool     pair_owns() const { return pair && ep == pair->ep(); }
    /** Silence on it is looked for. Of some the NIC alone tells: where the user has
     *  said how it is to try, and where it has one end for all peers (dc). */
    bool     watched() const
    {
        return rail.traits().stream || by_messages || !rail.reads() ||
               (pair_owns() && rail.retry_time() != sched::Nanos());
    }
    /** Of something that is on its way, or a part of it, only the peer's program says that
     *  it has come. */
    bool     awaits_program() const
    {
        return !unacked.empty() || !parts.empty() || stream.unconfirmed != 0;
    }
    /** It has taken messages of users, and is the same connection yet. */
    bool has_messages() const { return messages.ep != nullptr && messages.ep == ep; }
    /** The interface of `ep`, in the poller. */
    unsigned poll_index() const;

    Rail            &rail;
    wire::RailRecord remote;
    State            state = State::Idle;
    uct_ep_h         ep    = nullptr; /* of `pair`, or our own */
    std::unique_ptr<QueuePair> pair;  /* rails that connect endpoint to
                                         endpoint */
    /* Data goes by messages: the rail has no put, or no queue pair was left
     * for this path. */
    bool             by_messages = false;
    bool             remote_down = false; /* the peer's NIC has no link */
    Room             room;
    Recovery         recovery;
    PathHealth       health;
    unsigned         serving = 0; /* puts for gets, not acknowledged */
    sched::Rate      weight; /* reported speed */
    sched::RateMeter meter;
    uint64_t         chunks = 0;
    double           planned = 0; /* bytes that a plan still wants here */

    /* CompletionNotices': for chunks of gets; each must follow its chunk on this
     * path and go before the next one. And those sent that the peer may not have
     * seen, for when the path breaks: of a path that keeps order it has those
     * before a put that was acknowledged. */
    Fifo<wire::ChunkLanded> notices;
    Fifo<wire::ChunkLanded> unseen;

    /* MessageTx's: chunks with parts to send, and those whose acknowledgement is
     * awaited; in order. */
    Fifo<Chunk *> parts;
    UnackedChunks unacked;
    uint32_t      chunk_number = 0;

    /* ChunkTx's. */
    Fifo<Chunk *> lost;       /* broke with it */
    unsigned      on_nic = 0; /* chunks that the NIC has */

    Stream   stream;
    Messages messages;

private:
    const Books         books_;
};

} // namespace fuselink

#endif
