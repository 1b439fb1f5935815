/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_HOST_NETWORK_H
#define FUSELINK_HOST_NETWORK_H

#include "../../../ucs_ext/net.h"
#include "../../../ucs_ext/topology.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace fuselink {

/** What a process is told of its node's NICs and of the way to others, beside
 *  what UCX says. For connection set-up: answers take system calls. */
class Network {
public:
    /* As in ucs_ext/net.h, which says what they are. */
    virtual std::vector<net::InterfaceAddress> interface_addresses() = 0;
    virtual int
    route_ifindex(uint8_t family, const std::array<uint8_t, 16> &address) = 0;
    virtual void
    introduce(int ifindex, const std::array<uint8_t, 16> &ipv4) = 0;
    virtual bool is_loopback(int ifindex) = 0;
    virtual bool is_inner_bridge(const std::string &device) = 0;
    virtual std::vector<std::string> rdma_netdevs(const std::string &port) = 0;
    virtual std::vector<std::string> active_rdma_ports() = 0;

    /* As in Topology. */
    virtual Topology::Place place(const std::string &device) = 0;
    virtual int             numa_node(const std::string &device) = 0;

protected:
    ~Network() = default;
};

} // namespace fuselink

#endif
