/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TRANSFER_PATH_H
#define FUSELINK_TRANSFER_PATH_H

#include "../peer/link.h"
#include "../sched/rate_meter.h"
#include "../ucx.h"
#include "../wire/address.h"
#include "../wire/messages.h"

#include <deque>
#include <memory>

namespace fuselink {

class BulkSender;
class Rail;
struct Chunk;

/** A way for bulk data to one peer: one of our rails to one of its rails. */
struct Path {
    /* Connect-to-ep paths pass through Asked; the others are made Ready at
     * once. Out: it did not connect and is about to be removed. */
    enum class State : uint8_t { Idle, Asked, Ready, Out };

    struct Hook {
        uct_pending_req_t req; /* first: UCX gives back a pointer to it */
        Path             *path;
        bool              queued = false;
        bool              running = false; /* inside on_hook() */
    };

    Path(BulkSender &sender, Rail &rail, const wire::RailRecord &remote);
    ~Path();

    /* A chunk begins on the path; it has arrived, or never will. */
    void posted(sched::Bytes length);
    void ended(sched::Bytes length, bool arrived);
    /** Busy paths on the NIC, over all peers, this one counted as if busy. */
    uint32_t sharers() const;

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
    bool             retry  = false; /* look for room from progress */
    bool             broken = false; /* the rail said so */
    bool             cancelled = false;
    unsigned         serving = 0; /* puts for gets, not acknowledged */
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

} // namespace fuselink

#endif
