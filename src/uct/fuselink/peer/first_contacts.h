/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_PEER_FIRST_CONTACTS_H
#define FUSELINK_PEER_FIRST_CONTACTS_H

#include "../host/host.h"
#include "../ucx.h"

#include <deque>

namespace fuselink {

class Peer;

/**
 * Peers of an engine to which a connection was begun that nobody has answered
 * yet. Each has some time for it; then Peer::try_another_way().
 *
 * One thread at a time (the worker's).
 */
class FirstContacts {
public:
    /** What an endpoint's handshake is given. UCX's thread answers it,
     *  whatever the peer's program does meanwhile. */
    static constexpr sched::Nanos kPatience = sched::Nanos::seconds(2);
    /** The same when another way is known to work. */
    static constexpr sched::Nanos kImpatience = sched::Nanos::millis(100);

    explicit FirstContacts(const Host &host) : host_(host) {}

    /** From now on, whatever it was given before. */
    void await(Peer &peer, sched::Nanos time = kPatience);
    /** The peer is destroyed. */
    void forget(const Peer &peer);

    bool empty() const { return waiting_.empty(); }
    /** Whether any is left that has not answered. */
    bool open()
    {
        drop_answered();
        return !waiting_.empty();
    }

    /** Sees to those whose time is over. */
    void check(sched::Nanos now);

private:
    struct Entry {
        Peer        *peer;
        sched::Nanos until;
    };

    void drop_answered();

    const Host       &host_;
    std::deque<Entry> waiting_; /* the first is due first */
    sched::Nanos      checked_; /* last */
};

} // namespace fuselink

#endif
