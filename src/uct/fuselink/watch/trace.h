/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_WATCH_TRACE_H
#define FUSELINK_WATCH_TRACE_H

#include "../../../ucs_ext/nic_health.h"
#include "../sched/policy.h"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace fuselink {

/**
 * The last chunks that an engine sent and received, with when and why, and what
 * failed between them (UCX_FUSELINK_TRACE). Its memory is allocated at once; when it is full the
 * oldest is forgotten. One thread at a time.
 */
class Trace {
public:
    enum class Kind : uint8_t {
        Put,   /* we write */
        Get,   /* our NIC reads */
        Serve, /* we write what the peer asked for */
        Landed, /* a peer has written what we asked for */
        /* What has failed on a rail, or works again; `length` is the time since the
         * break, ns. */
        PathBroke,
        PathDrained,   /* the peer has answered on it */
        PathWorks,     /* data has gone over it again */
        MessagesMoved, /* of the peer, to our rail `remote` */
        CarrierLost,
        CarrierBack
    };
    static bool is_chunk(Kind kind) { return kind <= Kind::Landed; }
    /** Of Event::from and to: nothing, as NICs and kernels have the memory itself; a slot of
     *  the host's memory; messages; and from kGpu on a slot of another GPU, of the relay of that
     *  number. */
    static constexpr uint8_t kItself = 0, kHost = 1, kMessages = 2, kGpu = 3;

    /** Instants are CLOCK_MONOTONIC nanoseconds, which the processes of a node
     *  share. */
    struct Event {
        int64_t  start = 0;
        int64_t  end   = 0; /* 0: not over */
        uint64_t peer  = 0;
        uint64_t length = 0;
        uint64_t in_flight = 0; /* on the path when it was chosen */
        uint64_t ahead     = 0; /* of others, on its NICs */
        double   rate      = 0; /* of the path as far as known, bytes/s */
        Kind     kind      = Kind::Put;
        uint8_t  rail      = 0; /* ours */
        uint8_t  remote    = 0; /* the peer's */
        sched::PathView::Standing standing = sched::PathView::Standing::Free;
        bool     probe   : 1 = false;
        bool     planned : 1 = false; /* there was a plan for the transfer */
        bool     failed  : 1 = false;
        uint8_t  from = kItself, to = kItself; /* what a chunk goes through at each end */
        NicState state = NicState::Up; /* of the rail, where it failed */
    };

    static_assert(sizeof(Event) == 64); /* as the documents say */

    /** Room for as many events as fit into `bytes`, one at least. */
    explicit Trace(size_t bytes);

    /** @return the event's number, for end(); never 0 */
    uint64_t begin(const Event &event);
    /** Nothing if the event is forgotten by now. */
    void end(uint64_t number, int64_t now, bool ok);

    size_t   capacity() const { return capacity_; }
    uint64_t seen() const { return seen_; }
    uint64_t dropped() const { return seen_ - size(); }
    size_t   size() const;
    /** From 0, the oldest. */
    const Event &at(size_t index) const;

    /** What Event tells of a choice. */
    static void describe(const sched::PathView &view, Event &event);

private:
    size_t                   capacity_;
    std::unique_ptr<Event[]> events_;
    uint64_t                 seen_ = 0;
};

} // namespace fuselink

#endif
