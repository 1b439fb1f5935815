/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_RAIL_TRAITS_H
#define FUSELINK_RAIL_TRAITS_H

#include <span>
#include <string_view>

namespace fuselink {

/**
 * What fuselink must know of a transport beyond its capability flags. Every
 * decision that depends on a transport's name is in this one table, those for
 * mlx5 among them.
 */
struct RailTraits {
    std::string_view tl;
    std::string_view component; /* whose MD has it */

    /* The transport of the same port on which peers say hello, for one that
     * has no address to connect to. Empty: itself. It also carries what no
     * queue pair is left for. */
    std::string_view bootstrap;

    /* The kernel's route, not the interface, decides which NIC a connection
     * leaves by: a path is usable only if the route agrees. */
    bool routed_by_ip;

    /* One endpoint is one byte stream. Bulk data then gets an interface, and
     * so a connection, of its own: acknowledgements and control messages of
     * the other direction would otherwise wait behind it. */
    bool stream;

    /* The completion of a put says that the data is in remote memory, not
     * only that the local buffer is free. Without it the rail's puts are not
     * used: the end of a transfer and the speed of a rail are both taken from
     * completions. Bulk data then goes by messages. */
    bool put_completes_remotely;

    /* Polling reads a queue in memory instead of calling the kernel: it costs
     * less than being woken, and the event fd says nothing unless armed. Such
     * interfaces are polled, never watched, unless the user sleeps. */
    bool cheap_polls;

    /* The NIC reaches registered memory only, by keys, and can read it too. */
    bool needs_keys;

    /* Messages that an interface has room for, all peers together, unless the
     * user says otherwise; that is pinned memory. The peers' messages are
     * divided over the rails, and so is this. 0: not to be set. */
    unsigned receive_queue;

    /* After so long the NIC sends again what was not acknowledged, unless the
     * user says otherwise; microseconds. 0: no NIC does. */
    unsigned retry_time;
};

/** The traits of a transport that can be a rail, or nullptr. */
const RailTraits *find_traits(std::string_view tl);

/** All of them, in the order in which a port's transport is chosen. */
std::span<const RailTraits> all_traits();

} // namespace fuselink

#endif
