/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_UCS_EXT_NIC_COUNTERS_H
#define FUSELINK_UCS_EXT_NIC_COUNTERS_H

#include <cstdint>
#include <optional>
#include <string>

namespace fuselink {

/** Bytes that a NIC port moved since it is there, of all programs. */
struct NicCounters {
    uint64_t sent     = 0;
    uint64_t received = 0;
};

/** The kernel's counters of a NIC port named as UCX does: eth0, mlx5_0:1. An
 *  RDMA port without counters of its own (soft-RoCE) counts as the network
 *  interface that carries it. None if the port is unknown; `port` may be
 *  anything. */
std::optional<NicCounters> read_nic_counters(const std::string &port);

/** Whether a port named like that has a carrier: a cable, and something at its
 *  other end. None if the kernel does not say. */
std::optional<bool> read_nic_carrier(const std::string &port);

} // namespace fuselink

#endif
