/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_UCS_EXT_NET_H
#define FUSELINK_UCS_EXT_NET_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace fuselink::net {

/** An IPv4 or IPv6 address of a network interface, with its subnet. */
struct InterfaceAddress {
    std::string             device;
    int                     ifindex = 0;
    uint8_t                 family  = 0; /* 4 or 6 */
    std::array<uint8_t, 16> address{};
    std::array<uint8_t, 16> netmask{};

    bool same_subnet(const InterfaceAddress &other) const;
    /** "10.1.2.0/24" */
    std::string subnet() const;
};

/** The addresses of all interfaces that are up. Empty on failure. */
std::vector<InterfaceAddress> interface_addresses();

/** The interface index by which the kernel would send to `address` now; 0 if
 *  there is no route or the kernel cannot be asked. Costs one netlink round
 *  trip (about 10 us): connection set-up only. */
int route_ifindex(uint8_t family, const std::array<uint8_t, 16> &address);

/** True if `ifindex` is a loopback interface. */
bool is_loopback(int ifindex);

/** True for a bridge of which every port is a virtual one: it joins this
 *  machine's containers or guests and leads nowhere else. False for all other
 *  interfaces, and where /sys does not say. */
bool is_inner_bridge(const std::string &device);

/**
 * Has the kernel ask the hosts of the interface's network (ARP) for an address that
 * nobody has. Those that look for this one, `ipv4`, take its hardware address from that
 * question, and what waits there for it goes out. The kernel of a NIC whose cable was
 * pulled while it sent does look: it asks once a second, also when the cable is back, and
 * nothing makes it ask sooner.
 *
 * No privilege is needed. All processes of a host ask the same within 16 ms. Of no use, and
 * no harm: in a VRF, behind a router, where a filter drops the datagram, and where the kernel
 * names another address of the interface (arp_announce). Four system calls.
 */
void introduce(int ifindex, const std::array<uint8_t, 16> &ipv4);

/** The network interfaces behind an RDMA port named as UCX does (mlx5_0:1);
 *  none if it is no such port, or one of InfiniBand. */
std::vector<std::string> rdma_netdevs(const std::string &port);

/** The RDMA ports of the machine that are up, named as UCX does; whether UCX
 *  can use them or not. */
std::vector<std::string> active_rdma_ports();

} // namespace fuselink::net

#endif
