/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_RAIL_POLLER_H
#define FUSELINK_RAIL_POLLER_H

#include "lower.h"

#include <cstdint>

namespace fuselink {

/**
 * Progresses the interfaces of all rails for the price of those in use.
 *
 * Polling a TCP interface is a system call, so that sixteen idle rails would
 * cost more than the message that is waited for. An interface is polled on
 * every call while it is hot: something happened on it lately or somebody
 * holds it because an operation is outstanding. The cold ones are watched
 * together through one epoll set, now and then.
 *
 * One thread at a time (the worker's).
 */
class Poller {
public:
    static constexpr unsigned kMaxIfaces = 64;

    Poller();
    ~Poller();
    Poller(const Poller &)            = delete;
    Poller &operator=(const Poller &) = delete;

    /** Starts to watch an interface; returns its number here. One whose polls
     *  are cheap is always hot. */
    ucs_status_t add(LowerIface &iface, bool cheap, unsigned &index);

    /** Takes back the last add(). */
    void remove(unsigned index);

    /** Polls; returns the number of events, as uct_iface_progress(). */
    unsigned progress();

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

    /** Wakes whoever waits for event_fd(); `arg` is the poller. For interfaces
     *  without an event fd, which call it on a thread of UCX's. */
    static void on_async_event(void *arg, unsigned flags);

    /** uct_iface_event_arm() on all interfaces. */
    ucs_status_t arm(unsigned events);

private:
    struct Entry {
        LowerIface *iface = nullptr;
        unsigned    holds = 0;
        unsigned    idle  = 0;     /* polls in a row that found nothing */
        int         fd     = -1;    /* event fd; -1: none, always hot */
        bool        watched = false; /* fd is in the epoll set */
        bool        cheap   = false; /* always hot */
    };

    void     heat(unsigned index);
    void     cool(unsigned index);
    void     watch(unsigned index, bool on);
    void     disarm();
    unsigned poll_one(unsigned index);
    unsigned poll_cold();

    /* About 1 ms of polling: a ping-pong over the slowest link that matters
     * stays hot, a phase without network traffic does not. */
    static constexpr unsigned kIdleLimit = 2000;
    /* Seconds between looks at the cold rails: while hot ones carry traffic,
     * and while nothing does. The first is for rails that a peer uses without
     * our asking; the second adds to the latency of a first message. */
    static constexpr double kColdIntervalBusy = 50e-6;
    static constexpr double kColdIntervalIdle = 20e-6;

    Entry      entries_[kMaxIfaces];
    unsigned   count_ = 0;
    uint64_t   hot_   = 0; /* bit per entry */
    unsigned   tick_  = 0;
    bool       force_cold_ = false;
    bool       armed_      = false; /* hot ones are in the epoll set */
    bool       busy_       = false;
    ucs_time_t next_cold_  = 0;
    ucs_time_t cold_interval_busy_;
    ucs_time_t cold_interval_idle_;
    int        epoll_fd_;
    int        wake_fd_; /* eventfd, in the epoll set */
};

} // namespace fuselink

#endif
