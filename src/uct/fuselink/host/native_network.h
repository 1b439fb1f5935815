/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_HOST_NATIVE_NETWORK_H
#define FUSELINK_HOST_NATIVE_NETWORK_H

#include "network.h"

namespace fuselink {

/** As the kernel has it, in this process's network namespace. */
class NativeNetwork final : public Network {
public:
    std::vector<net::InterfaceAddress> interface_addresses() override;
    int  route_ifindex(uint8_t                        family,
                       const std::array<uint8_t, 16> &address) override;
    void introduce(int                            ifindex,
                   const std::array<uint8_t, 16> &ipv4) override;
    bool is_loopback(int ifindex) override;
    bool is_inner_bridge(const std::string &device) override;
    std::vector<std::string> rdma_netdevs(const std::string &port) override;
    std::vector<std::string> active_rdma_ports() override;
    Topology::Place          place(const std::string &device) override;
    int                      numa_node(const std::string &device) override;
};

} // namespace fuselink

#endif
