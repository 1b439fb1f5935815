/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_HOST_SOCKET_ADDRESS_H
#define FUSELINK_HOST_SOCKET_ADDRESS_H

#include <array>
#include <cstdint>

namespace fuselink {

/** One end of a TCP connection. An IPv4 address in an IPv6 socket
 *  (::ffff:10.0.0.1) is IPv4 here, as it is at the other end. */
struct SocketAddress {
    uint8_t                 family = 0; /* 4 or 6; 0: none */
    std::array<uint8_t, 16> ip{};       /* IPv4: the first four */
    uint16_t                port = 0;

    bool operator==(const SocketAddress &) const = default;
};

} // namespace fuselink

#endif
