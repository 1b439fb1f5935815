/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_RAIL_POLLER_H
#define FUSELINK_RAIL_POLLER_H

#include "../host/host.h"
#include "../ucx.h"

#include <cstdint>
#include <memory>
#include <string>

namespace fuselink {

/**
 * Progresses the interfaces of all rails for the price of those in use.
 *
 * Polling a TCP interface is a system call, so that sixteen idle rails would
 * cost more than the message that is waited for. An interface is polled on
 * every call while it is hot: something happened on it lately or somebody
 * holds it, because an operation is outstanding on it or because messages
 * arrive there whose latency matters. The cold ones are looked at now and
 * then: those whose poll calls the kernel together through one epoll set,
 * those whose poll reads memory by polling them.
 *
 * One thread at a time (the worker's).
 */
class Poller {
public:
    static constexpr unsigned kMaxIfaces = 64;

    explicit Poller(const Host &host);
    ~Poller();
    Poller(const Poller &)            = delete;
    Poller &operator=(const Poller &) = delete;

    /** Starts to watch an interface, which stays the caller's and outlives
     *  this; returns its number here. `event_flags`: its UCT_IFACE_FLAG_EVENT_*;
     *  `name`: for messages; `cheap`: a poll is less than a system call. */
    ucs_status_t add(uct_iface_h iface, uint64_t event_flags,
                     const std::string &name, bool cheap, unsigned &index);

    /** Takes back the last add(). */
    void remove(unsigned index);

    /** Polls; returns the number of events, as uct_iface_progress(). In the
     *  header because it is all that happens while a user waits. */
    unsigned progress()
    {
        unsigned count = 0;
        for (uint64_t mask = hot_; mask != 0; mask &= mask - 1) {
            count += poll(static_cast<unsigned>(__builtin_ctzll(mask)));
        }
        /* Not every time: the clock has a price as well. */
        if (ucs_unlikely(--until_cold_ == 0)) {
            count += look_at_cold(count);
        }
        return count;
    }

    /** Polls one of them now. */
    unsigned poll_now(unsigned index) { return poll(index); }
    /** Polls one until all has been looked at that it has now. */
    void drain(unsigned index);

    /** Keeps an interface hot until release(); nests. */
    void hold(unsigned index)
    {
        ++entries_[index].holds;
        if (!(hot_ & (uint64_t{1} << index))) {
            heat(index);
        }
    }
    void release(unsigned index)
    {
        --entries_[index].holds;
        entries_[index].idle = 0;
    }

    /** True inside progress(): a rail's own code may be on the stack. */
    bool busy() const { return busy_; }

    /** Readable when any interface has something to progress. */
    int event_fd() const { return epoll_fd_; }

    /** Wakes whoever waits for event_fd() when `fd` is readable; for good. */
    void wake_by(int fd);
    /** Wakes whoever waits for event_fd() once arm() has been called, after a
     *  time; 0: does not. */
    void wake_in(sched::Nanos time);

    /** Wakes whoever waits for event_fd(); `arg` is the poller. For interfaces
     *  without an event fd, which call it on a thread of UCX's. */
    static void on_async_event(void *arg, unsigned flags);

    /** uct_iface_event_arm() on all interfaces; UCS_ERR_BUSY: call progress()
     *  first. Of polled interfaces at least once: a completion queue that is
     *  armed may say nothing of what is in it already (ibv_req_notify_cq(3)),
     *  so all were armed before the last look, which found nothing. */
    ucs_status_t arm(unsigned events);

private:
    struct Entry {
        uct_iface_h iface   = nullptr;
        unsigned    holds   = 0;
        unsigned    idle    = 0;     /* polls in a row that found nothing */
        int         fd      = -1;    /* event fd; -1: none */
        bool        watched = false; /* fd is in the epoll set */
    };

    unsigned poll(unsigned index)
    {
        Entry &entry = entries_[index];
        busy_        = true;
        unsigned n   = uct_iface_progress(entry.iface);
        busy_        = false;
        if (n != 0) {
            entry.idle = 0;
        } else if (ucs_unlikely(++entry.idle > kIdleLimit)) {
            cool(index);
        }
        return n;
    }

    void     heat(unsigned index);
    void     cool(unsigned index);
    void     watch(unsigned index, bool on);
    void     disarm();
    void     look_next_time();
    unsigned look_at_cold(unsigned found);
    unsigned poll_cold();

    /* About 1 ms of polling: a ping-pong over the slowest link that matters
     * stays hot, a phase without network traffic does not. */
    static constexpr unsigned kIdleLimit = 2000;
    /* Times between looks at the cold rails: while hot ones carry traffic,
     * and while nothing does. The first is for rails that a peer uses without
     * our asking; the second adds to the latency of a first message. Behind
     * RDMA rails that are hot only hellos wait, so looking there becomes rarer
     * the longer nothing is found: the last figure. */
    static constexpr sched::Nanos kColdIntervalBusy = sched::Nanos::micros(50);
    static constexpr sched::Nanos kColdIntervalRdma = sched::Nanos::micros(200);
    static constexpr sched::Nanos kColdIntervalMost = sched::Nanos::millis(2);
    static constexpr sched::Nanos kColdIntervalIdle = sched::Nanos::micros(20);
    /* Calls of progress() between looks at the clock; of cheap polls more
     * fit into an interval. */
    static constexpr unsigned kStride      = 8;
    static constexpr unsigned kStrideCheap = 32;

    const Host &host_;
    Entry      entries_[kMaxIfaces];
    std::string names_[kMaxIfaces]; /* of the interfaces, for messages */
    unsigned   count_ = 0;
    unsigned   watched_ = 0; /* entries whose fd is in the epoll set */
    uint64_t   hot_     = 0; /* bit per entry */
    uint64_t   cheap_   = 0; /* bit per entry: polled while cold, too */
    unsigned   until_cold_ = 1; /* calls until look_at_cold() */
    unsigned   stride_     = 0; /* what that was set to */
    bool       all_looked_at_ = false; /* by the last look_at_cold() */
    bool       forced_     = false; /* the next one is not to ask the clock */
    bool       armed_      = false; /* hot ones are in the epoll set */
    unsigned   armed_for_  = 0;     /* events; 0: not all are armed */
    bool       quiet_      = false; /* the last look found nothing */
    bool       busy_       = false;
    sched::Nanos next_cold_;
    unsigned   fruitless_  = 0; /* looks in a row behind hot RDMA rails */
    int        epoll_fd_;
    int        wake_fd_; /* eventfd, in the epoll set */
    std::unique_ptr<Alarm> alarm_; /* its descriptor too; may be null */
    bool       alarm_set_ = false;
};

} // namespace fuselink

#endif
