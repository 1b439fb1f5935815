/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_UCS_EXT_NIC_HEALTH_H
#define FUSELINK_UCS_EXT_NIC_HEALTH_H

#include <cstdint>

namespace fuselink {

/** How a NIC is, as those find it who use it. In the order of how much is known
 *  against it. */
enum class NicState : uint8_t {
    Up     = 0,
    Broken = 1, /* a connection over it broke, as it or a kernel said */
    Silent = 2, /* a connection over it was given up: nothing came back */
    Down   = 3  /* it has no carrier */
};

inline const char *nic_state_name(NicState state)
{
    return state == NicState::Down   ? "down" :
           state == NicState::Silent ? "silent" :
           state == NicState::Broken ? "broken" : "up";
}

/** What one user of a NIC has met there. Instants are CLOCK_MONOTONIC nanoseconds,
 *  and so are times. */
struct NicHealth {
    NicState state     = NicState::Up;
    int64_t  until     = 0; /* connections that broke rest so long; 0: none does */
    int64_t  since     = 0; /* something has been out; 0: nothing is */
    uint64_t paths     = 0; /* ways for bulk data over it, */
    uint64_t paths_out = 0; /* of these, that broke and do not work again */
    uint64_t messages  = 0; /* peers whose messages go over it */
    uint64_t breaks    = 0; /* of paths that worked */
    uint64_t moves     = 0; /* of peers' messages to another NIC */
    uint64_t resent    = 0; /* bytes, because a path or messages broke here */
    uint64_t out       = 0; /* in all, without the time from since on */
    uint64_t longest   = 0; /* from a break until the peer had answered on it */
};

} // namespace fuselink

#endif
