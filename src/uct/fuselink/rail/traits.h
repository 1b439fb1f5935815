/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_RAIL_TRAITS_H
#define FUSELINK_RAIL_TRAITS_H

#include <string_view>

namespace fuselink {

/**
 * What fuselink must know of a transport beyond its capability flags. Every
 * decision that depends on a transport's name is in this one table.
 */
struct RailTraits {
    std::string_view tl;
    std::string_view component; /* whose MD has it */

    /* The kernel's route, not the interface, decides which NIC a connection
     * leaves by: a path is usable only if the route agrees. */
    bool routed_by_ip;

    /* One endpoint is one byte stream. Bulk data then gets an interface, and
     * so a connection, of its own: acknowledgements and control messages of
     * the other direction would otherwise wait behind it. */
    bool stream;

    /* The completion of a put says that the data is in remote memory, not
     * only that the local buffer is free. Rails without it are refused: the
     * end of a transfer and the speed of a rail are both taken from it. */
    bool put_completes_remotely;
};

/** The traits of a transport that can be a rail, or nullptr. */
const RailTraits *find_traits(std::string_view tl);

} // namespace fuselink

#endif
