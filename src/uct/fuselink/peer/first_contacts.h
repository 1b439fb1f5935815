/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_PEER_FIRST_CONTACTS_H
#define FUSELINK_PEER_FIRST_CONTACTS_H

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
    /** What an endpoint's handshake is given, seconds. UCX's thread answers it,
     *  whatever the peer's program does meanwhile. */
    static constexpr double kPatience = 2;
    /** The same when another way is known to work. */
    static constexpr double kImpatience = 0.1;

    /** From now on, whatever it was given before. */
    void await(Peer &peer, double seconds = kPatience);
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
    void check(ucs_time_t now);

private:
    struct Entry {
        Peer      *peer;
        ucs_time_t until;
    };

    void drop_answered();

    std::deque<Entry> waiting_;     /* the first is due first */
    ucs_time_t        checked_ = 0; /* last */
};

} // namespace fuselink

#endif
