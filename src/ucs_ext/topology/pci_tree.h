/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_UCS_EXT_TOPOLOGY_PCI_TREE_H
#define FUSELINK_UCS_EXT_TOPOLOGY_PCI_TREE_H

#include "connection.h"
#include "pci.h"

#include <string>
#include <vector>

namespace fuselink::topology {

/** A device on the PCI bus, with all bridges above it. */
struct PciDevice {
    PciAddress  address;
    unsigned    pci_class = 0; /* and subclass: 0x0302 */
    unsigned    vendor    = 0;
    std::string name;          /* may be empty */
    int         numa_node = -1;
    double      rate      = 0; /* of its PCIe, bytes/s; 0 is unknown */
    /* From the root complex downwards; equal names are one bridge. */
    std::vector<std::string> bridges;
    std::vector<std::string> os_names; /* eth0, mlx5_0 */

    /** Does it compute? The display of a board's management does not. */
    bool is_gpu() const;
};

/** The PCI bus of a machine, whoever has read it. */
struct PciTree {
    static constexpr size_t kMaxDevices = 4096;

    std::vector<PciDevice> devices;
    unsigned               numa_nodes = 0; /* 0 is unknown */

    const PciDevice *find(const PciAddress &address) const;
    PciDevice       *find(const PciAddress &address);
    /** By what the operating system calls it. */
    const PciDevice *find(const std::string &os_name) const;

    Connection connection(const PciDevice &a, const PciDevice &b) const;
};

} // namespace fuselink::topology

#endif
