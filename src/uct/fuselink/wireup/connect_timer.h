/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_WIREUP_CONNECT_TIMER_H
#define FUSELINK_WIREUP_CONNECT_TIMER_H

#include "../conn/stream_watch.h"
#include "../host/host.h"
#include "../ucx.h"

#include <algorithm>
#include <deque>

namespace fuselink {

/**
 * Connections of one interface that were begun and that nobody has answered yet.
 * Each has some time for it; then Client::try_another().
 *
 * One thread at a time (the worker's).
 */
class ConnectTimer {
public:
    /** Who waits for an answer. */
    class Client {
    public:
        /** The answer has not come, and is still waited for. */
        virtual bool is_unanswered() const = 0;
        /** The time is over. May await() anew. */
        virtual void try_another() = 0;

    protected:
        ~Client() = default;
    };

    /** What an endpoint's handshake is given. UCX's thread answers it,
     *  whatever the peer's program does meanwhile. */
    static constexpr sched::Nanos kPatience = sched::Nanos::seconds(2);
    /** The same when another candidate is known to work. */
    static constexpr sched::Nanos kImpatience = sched::Nanos::millis(100);

    /** What of the time since the last look does not count where seconds without an answer are
     *  the end: programs that are well do other things for `most` between two calls, and after
     *  more what has come was not looked at. */
    static constexpr sched::Nanos away(sched::Nanos step, sched::Nanos most = kMostStep)
    {
        return std::max(step - most, sched::Nanos());
    }

    /** For the other kernel to answer a connection. */
    static constexpr sched::Nanos kKernel = StreamWatch::kUnanswered;

    explicit ConnectTimer(const Host &host) : host_(host) {}
    ConnectTimer(const ConnectTimer &)            = delete;
    ConnectTimer &operator=(const ConnectTimer &) = delete;

    /** From now on, whatever it was given before. Until forget() it stays. */
    void await(Client &client, sched::Nanos time = kPatience);
    /** The client is destroyed. */
    void forget(const Client &client);

    bool empty() const { return waiting_.empty(); }
    /** Whether any is left that has not been answered. */
    bool open()
    {
        drop_answered();
        return !waiting_.empty();
    }

    /** Sees to those whose time is over. From progress only. */
    void check(sched::Nanos now);

private:
    static constexpr sched::Nanos kMostStep = sched::Nanos::seconds(1);

    struct Entry {
        Client      *client;
        sched::Nanos until;
    };

    void drop_answered();

    const Host       &host_;
    std::deque<Entry> waiting_; /* the first is due first */
    sched::Nanos      checked_; /* last */
};

} // namespace fuselink

#endif
