/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_UCS_EXT_TOPOLOGY_SYSFS_H
#define FUSELINK_UCS_EXT_TOPOLOGY_SYSFS_H

#include "pci_tree.h"

#include <string>
#include <vector>

namespace fuselink::topology {

/** A network interface or RDMA device, as sysfs lists it. */
struct SysfsNic {
    /* The RDMA device first, where there is one; then network interfaces. */
    std::vector<std::string> names;
    double                   rate = 0; /* bytes/s; 0 is unknown */
};

/** What the kernel says below `root`: /sys, or a copy of one. */
class Sysfs {
public:
    explicit Sysfs(std::string root = "/sys") : root_(std::move(root)) {}

    /** Network devices and GPUs on the PCI bus. */
    PciTree pci_tree() const;

    /** All NICs but loopback, virtual ones too; sorted by name. */
    std::vector<SysfsNic> nics() const;

private:
    struct NicLink;

    bool read_device(const std::string &address, PciDevice &device) const;
    std::vector<NicLink> nic_links() const;

    std::string root_;
};

} // namespace fuselink::topology

#endif
