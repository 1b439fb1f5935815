/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_UCS_EXT_TOPOLOGY_NIC_LIST_H
#define FUSELINK_UCS_EXT_TOPOLOGY_NIC_LIST_H

#include "devices.h"
#include "pci_tree.h"

#include <string>
#include <vector>

namespace fuselink::topology {

/**
 * A network interface or RDMA device, as the kernel lists it. hwloc has no speeds
 * of NICs, and none that stand nowhere (VLANs, bonds, containers' interfaces,
 * soft-RoCE) unless the environment asks for them.
 */
struct NicFacts {
    std::string name;
    bool        rdma = false;
    double      rate = 0; /* bytes/s; 0 is unknown */
    std::string under;    /* the interface that a software device is put on */
};

/** All but loopback, RDMA devices first, below `root`: /sys, or one like it. */
std::vector<NicFacts> list_nics(const std::string &root = "/sys");

/** An RDMA device and its interface are one NIC: they are one device of the bus,
 *  or one is put on the other. */
std::vector<Nic> join_nics(const std::vector<NicFacts> &facts,
                           const PciTree               &bus);

} // namespace fuselink::topology

#endif
