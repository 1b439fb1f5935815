/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "native_network.h"

namespace fuselink {

std::vector<net::InterfaceAddress> NativeNetwork::interface_addresses()
{
    return net::interface_addresses();
}

int NativeNetwork::route_ifindex(uint8_t                        family,
                                 const std::array<uint8_t, 16> &address)
{
    return net::route_ifindex(family, address);
}

void NativeNetwork::introduce(int ifindex, const std::array<uint8_t, 16> &ipv4)
{
    net::introduce(ifindex, ipv4);
}

bool NativeNetwork::is_loopback(int ifindex)
{
    return net::is_loopback(ifindex);
}

bool NativeNetwork::is_inner_bridge(const std::string &device)
{
    return net::is_inner_bridge(device);
}

std::vector<std::string> NativeNetwork::rdma_netdevs(const std::string &port)
{
    return net::rdma_netdevs(port);
}

std::vector<std::string> NativeNetwork::active_rdma_ports()
{
    return net::active_rdma_ports();
}

Topology::Place NativeNetwork::place(const std::string &device)
{
    return Topology::machine().place(device);
}

int NativeNetwork::numa_node(const std::string &device)
{
    return Topology::machine().numa_node(device);
}

} // namespace fuselink
