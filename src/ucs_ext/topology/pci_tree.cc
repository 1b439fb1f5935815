/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "pci_tree.h"

#include <algorithm>
#include <utility>

namespace fuselink::topology {

bool PciDevice::is_gpu() const
{
    constexpr unsigned kVga = 0x0300, kNvidia = 0x10de, kAmd = 0x1002;
    if (pci_class == kVga) {
        return vendor == kNvidia || vendor == kAmd;
    }
    return pci_class >> 8 == 0x03;
}

const PciDevice *PciTree::find(const PciAddress &address) const
{
    auto at = std::find_if(devices.begin(), devices.end(),
                           [&](const PciDevice &device) {
                               return device.address == address;
                           });
    return at != devices.end() ? &*at : nullptr;
}

PciDevice *PciTree::find(const PciAddress &address)
{
    return const_cast<PciDevice *>(std::as_const(*this).find(address));
}

const PciDevice *PciTree::find(const std::string &os_name) const
{
    for (const auto &device : devices) {
        if (std::find(device.os_names.begin(), device.os_names.end(),
                      os_name) != device.os_names.end()) {
            return &device;
        }
    }
    return nullptr;
}

Connection PciTree::connection(const PciDevice &a, const PciDevice &b) const
{
    if (a.address == b.address) {
        return Connection::Self;
    }
    auto [in_a, in_b] = std::mismatch(a.bridges.begin(), a.bridges.end(),
                                      b.bridges.begin(), b.bridges.end());
    auto shared = in_a - a.bridges.begin();
    if (shared > 1) {
        /* A switch is a bridge towards the root and one for each device: a
         * device behind the same switch has one bridge of its own, or none if
         * both are on the same bus. */
        auto own = std::max(a.bridges.end() - in_a, b.bridges.end() - in_b);
        return own <= 1 ? Connection::Pix : Connection::Pxb;
    }
    if (shared == 1) {
        return Connection::Phb;
    }
    /* Kernels without NUMA say -1 of everything. */
    if (numa_nodes == 1 && a.numa_node <= 0 && b.numa_node <= 0) {
        return Connection::Node;
    }
    return by_numa(a.numa_node, b.numa_node);
}

} // namespace fuselink::topology
