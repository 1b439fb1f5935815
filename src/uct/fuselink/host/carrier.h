/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_HOST_CARRIER_H
#define FUSELINK_HOST_CARRIER_H

#include "../sched/units.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fuselink {

/**
 * Which NICs of this node have a link, as its kernel says of itself: a cable that is
 * pulled here, an interface that is taken down or away, an address that goes. It says
 * nothing of the network behind the cable.
 *
 * The kernel tells of the first change at once. Of those that follow within a second
 * it may tell at its end.
 *
 * Each of its users has one of its own: who has heard of something has taken it from
 * nobody else, and wakes for it. One thread at a time.
 */
class Carrier {
public:
    virtual ~Carrier() = default;

    /** Hears what is new. True if something has changed since the last time that it
     *  was true. For every progress: it compares two numbers, and once in kPause it
     *  makes one system call that finds nothing (0.2 us). */
    virtual bool look(sched::Nanos now) = 0;
    static constexpr sched::Nanos kPause = sched::Nanos::millis(1);

    /* What has been heard so far; no system call. */

    /** The interface is there, up, and has a carrier. 0, which is no interface:
     *  always, as nothing is known against it. */
    virtual bool carries(int ifindex) const = 0;
    /** It has this address. `family` 4 or 6; IPv4: the first four. */
    virtual bool has(int ifindex, uint8_t family,
                     const std::array<uint8_t, 16> &address) const = 0;

    /** The interface that has this address; 0: none. */
    virtual int holder(uint8_t                        family,
                       const std::array<uint8_t, 16> &address) const = 0;

    /** The interfaces that carry and have an address by which other hosts reach them,
     *  ascending: one that only its own link knows (fe80::) does not count. */
    virtual std::vector<int> ready() const = 0;

    /** Whether that port of an RDMA device (DEVICE:PORT) is active; nothing if nobody
     *  says. It asks the device, which may take some 100 us: only where something is
     *  suspected. The device's interface may be of another network namespace. */
    virtual std::optional<bool> port_carries(const std::string &port) const = 0;

    /** Readable when look() would hear something, pause or not. */
    virtual int event_fd() const = 0;
};

} // namespace fuselink

#endif
