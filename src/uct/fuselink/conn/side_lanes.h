/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_CONN_SIDE_LANES_H
#define FUSELINK_CONN_SIDE_LANES_H

#include "../ucx.h"
#include "message_pins.h"

#include <cstddef>

namespace fuselink {

/**
 * Other wires to the same peer, over which messages of users may go beside the lane
 * while the lane's wire has more than it carries.
 *
 * One thread at a time (the worker's).
 */
class SideLanes {
public:
    struct Side {
        uct_ep_h    ep  = nullptr; /* null: the lane is to have it */
        MessagePin *pin = nullptr; /* of the endpoint; not held */
    };

    /** Where the next message is to go. */
    virtual Side choose() = 0;
    /** What the endpoint that was chosen last has returned, for so many bytes. */
    virtual void gave(ucs_status_t status, size_t length) = 0;
    /** The lane has taken so many bytes. */
    virtual void lane_took(size_t length) = 0;
    /** The kernels have all that was given to them. */
    virtual bool are_through() = 0;

protected:
    ~SideLanes() = default;
};

} // namespace fuselink

#endif
