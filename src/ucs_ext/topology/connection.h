/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_UCS_EXT_TOPOLOGY_CONNECTION_H
#define FUSELINK_UCS_EXT_TOPOLOGY_CONNECTION_H

#include <optional>
#include <string_view>

namespace fuselink::topology {

/**
 * What lies between two devices, nearest first. The names are those of
 * `nvidia-smi topo -m`, which people know.
 */
enum class Connection {
    Self,
    Pix,     /* one PCIe switch */
    Pxb,     /* several PCIe switches, but not the host's bridge */
    Phb,     /* the host's bridge: one root complex, in the CPU */
    Node,    /* between root complexes of one NUMA node */
    Sys,     /* across NUMA nodes */
    Unknown  /* further than anything that is known */
};

/** "X", "PIX", "PXB", "PHB", "NODE", "SYS", "-". */
const char *name(Connection connection);

/** PIX to SYS. */
std::optional<Connection> connection_of(std::string_view name);
inline constexpr const char *kConnectionNames = "PIX, PXB, PHB, NODE, SYS";

/** By NUMA nodes alone; a negative one is unknown. */
constexpr Connection by_numa(int a, int b)
{
    return a < 0 || b < 0 ? Connection::Unknown :
           a == b         ? Connection::Node :
                            Connection::Sys;
}

} // namespace fuselink::topology

#endif
