/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_PEER_WATCHED_CONNECTION_H
#define FUSELINK_PEER_WATCHED_CONNECTION_H

#include "../conn/endpoint_check.h"
#include "../conn/stream_watch.h"
#include "../host/stream_control.h"
#include "../rail/wires.h"
#include "../sched/quiet_clock.h"
#include "../sched/stall_clock.h"
#include "../transfer/path.h"

#include <cstdint>
#include <span>

namespace fuselink {

/**
 * One of the connections to a peer as it is at one look of SilenceWatch: a stream, of
 * which its kernel is asked, or a queue pair or an endpoint of datagrams, of which the
 * other NIC is. Puts together what the clocks that judge it have to see.
 *
 * Points to what its path, or the lane, has; for the time of that look. One thread at a
 * time (the worker's).
 */
struct WatchedConnection {
    StreamWatch   *watch;
    Wire          *wire;  /* may be null, of the lane */
    uct_ep_h       ep;
    Path          *path;  /* null: the lane of messages */
    EndpointCheck *check; /* null: it is a stream */
    uint8_t        own, remote; /* rails */
    bool           asked; /* nothing has ended for a while */
    StreamState    state;

    /** The last that is known to have come over its wire. What ends is often told over
     *  another, by a program that looks late: of a stream its kernel knows. */
    sched::Nanos carried_at() const
    {
        return check == nullptr ? watch->acked_at : watch->heard_at();
    }
    /** Its NIC has something that it says the end of, a put. */
    bool ends_by_itself() const { return path != nullptr && path->on_nic != 0; }
    /** Between the same two NICs. */
    bool shares_wire(const WatchedConnection &other) const
    {
        return own == other.own && remote == other.remote;
    }

    /** Of a stream. @param all  Those of the peer, this one included.
     *  @param program_at  The peer's program ran then, or later. */
    sched::StallView stall_view(std::span<const WatchedConnection> all,
                                sched::Nanos program_at, const Wires &wires,
                                sched::Nanos now) const;
    /** Of another. @param limit  Its NIC needs no longer, if its wire works. */
    sched::QuietView quiet_view(std::span<const WatchedConnection> all,
                                sched::Nanos limit, sched::Nanos program_at,
                                const Wires &wires, sched::Nanos now) const;
};

} // namespace fuselink

#endif
