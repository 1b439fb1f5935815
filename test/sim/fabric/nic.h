/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_SIM_FABRIC_NIC_H
#define FUSELINK_TEST_SIM_FABRIC_NIC_H

#include "../world/timeline.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace fuselink::sim {

/** A NIC port, its cable, and the queue in front of it. */
struct Nic {
    unsigned    node  = 0;
    unsigned    index = 0; /* on its node; equal ones are in one subnet */
    std::string ip_device;   /* "eth0" */
    std::string rdma_device; /* "rdma0:1" */
    double      rate  = 1e9;  /* bytes per second, either direction */
    Instant     delay = kMicrosecond; /* of its cable, one way */
    Instant     jitter = 0;   /* what is added now, to each packet alike */
    bool        mute  = false; /* nothing gets out, and nobody says so */
    bool        deaf  = false; /* nothing gets in, the same */
    bool        plugged = true; /* else both, and its own kernel says so */
    uint64_t    seeks   = 0; /* its kernel asks where these nodes are, a bit each */
    unsigned    queue_pairs = 0; /* that exist */
    unsigned    most_queue_pairs = 1u << 16;

    /* When what is queued will be through. */
    Instant out_free = 0, in_free = 0;

    Instant pulled_at = 0; /* when it was last unplugged */

    bool sends() const { return plugged && !mute; }
    bool hears() const { return plugged && !deaf; }

    /** Its kernel knows where that one is. */
    bool finds(const Nic &other) const { return (seeks >> other.node & 1) == 0; }
    /** What it sends now comes there. */
    bool reaches(const Nic &other) const
    {
        return sends() && finds(other) && other.hears();
    }

    /** When `size` bytes that leave now arrive at `to`. They take their part of
     *  both NICs' time. */
    Instant carry(Nic &to, size_t size, Instant now)
    {
        const auto time_on = [&](const Nic &nic) {
            return static_cast<Instant>(static_cast<double>(size) * 1e9 /
                                        nic.rate);
        };
        out_free   = std::max(out_free, now) + time_on(*this);
        to.in_free = std::max(out_free + delay + to.delay,
                              to.in_free + time_on(to));
        return to.in_free + jitter + to.jitter;
    }
};

} // namespace fuselink::sim

#endif
