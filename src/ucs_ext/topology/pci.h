/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_UCS_EXT_TOPOLOGY_PCI_H
#define FUSELINK_UCS_EXT_TOPOLOGY_PCI_H

#include <compare>
#include <optional>
#include <string>
#include <string_view>

namespace fuselink::topology {

/** Where a device is on the PCI bus: what the kernel, hwloc, NVML and CUDA all know
 *  it
 *  by, although each writes it in its own way. */
struct PciAddress {
    unsigned domain   = 0;
    unsigned bus      = 0;
    unsigned device   = 0;
    unsigned function = 0;

    auto operator<=>(const PciAddress &) const = default;

    /** As the kernel writes it: 0000:3b:00.0 */
    std::string text() const;

    /** 0000:3b:00.0, 00000000:3B:00.0 (NVML), 3b:00.0 */
    static std::optional<PciAddress> parse(std::string_view text);
};

/** Bytes per second, each direction, of a PCIe link with so many GT/s and lanes;
 *  0 if that is no such link. Encoding counts, packet headers do not. */
double pcie_rate(double gigatransfers, unsigned lanes);

} // namespace fuselink::topology

#endif
