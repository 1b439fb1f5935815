/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_PEER_WATCHED_LANE_H
#define FUSELINK_PEER_WATCHED_LANE_H

#include "../conn/control_channel.h"
#include "../conn/endpoint_check.h"
#include "../conn/stream_watch.h"
#include "../rail/wires.h"

#include <cstdint>

namespace fuselink {

/**
 * What SilenceWatch remembers of the lane of messages from look to look: of paths each has it
 * itself. One thread at a time (the worker's).
 */
struct WatchedLane {
    StreamWatch watch;
    Wire       *wire   = nullptr; /* null: not known yet */
    uint8_t     number = 0; /* whose these are */
    uint64_t    said   = 0; /* so many of those have come, */
    uint64_t    asked  = 0; /* and were said when the NIC was asked */
    uct_ep_h    ep     = nullptr;
    EndpointCheck check; /* of what is no stream */
    /* One of datagrams was left so often since the peer's program acknowledged
     * this. */
    unsigned            left = 0;
    wire::MessageNumber acknowledged = 0;
    sched::Nanos        waits_from; /* NicWatch::waits_for_lane(); 0: it does not */
    sched::Nanos        ports_at;   /* are asked then */

    /** They are of the lane that there is now. */
    bool is_of(const ControlChannel &channel) const
    {
        return number == channel.lane() && ep == channel.ep();
    }
    /** From now on they are, of one of which nothing was noted. */
    void begin(const ControlChannel &channel)
    {
        watch         = {};
        wire          = nullptr;
        number        = channel.lane();
        ep            = channel.ep();
        watch.answers = check.answers();
    }
};

} // namespace fuselink

#endif
