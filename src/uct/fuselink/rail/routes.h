/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_RAIL_ROUTES_H
#define FUSELINK_RAIL_ROUTES_H

#include "../host/network.h"
#include "../sched/units.h"
#include "../wire/address.h"

#include <map>
#include <tuple>

namespace fuselink {

/**
 * How the kernel gets to the addresses of peers' rails. Remembered for a moment: while a
 * connection comes about, each part of it asks for each address, and an answer takes some ten
 * system calls. No longer than that, and not beyond a change of a link, as routes change with
 * those.
 *
 * One thread at a time (the worker's).
 */
class Routes {
public:
    struct Way {
        int  ifindex  = 0;     /* 0: there is none */
        bool loopback = false; /* does not leave this network namespace */
    };

    static constexpr sched::Nanos kFresh = sched::Nanos::millis(10);

    Way to(const wire::NetAddress &address, Network &network, sched::Nanos now)
    {
        if (now >= until_ || ways_.size() == kMost) {
            ways_.clear();
            until_ = now + kFresh;
        }
        const auto [at, is_new] = ways_.try_emplace({address.family, address.bytes});
        if (is_new) {
            Way &way     = at->second;
            way.ifindex  = network.route_ifindex(address.family, address.bytes);
            way.loopback = network.is_loopback(way.ifindex);
        }
        return at->second;
    }

    /** A link has changed. */
    void forget() { ways_.clear(); }

private:
    /* Many more than one connection has. */
    static constexpr size_t kMost = 256;

    using Key = std::tuple<uint8_t, std::array<uint8_t, 16>>;

    std::map<Key, Way> ways_;
    sched::Nanos       until_; /* they are as the kernel has them */
};

} // namespace fuselink

#endif
