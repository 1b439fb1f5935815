/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_UCS_EXT_TOPOLOGY_H
#define FUSELINK_UCS_EXT_TOPOLOGY_H

#include "topology/pci_tree.h"

#include <memory>
#include <string>

namespace fuselink {

/**
 * Where devices stand in the machine, from hwloc. Of NICs that stand nowhere
 * (virtual ones), and where hwloc cannot read the machine, everything is unknown. What is between GPUs and NICs
 * is put together from more than this: topology/machine.h.
 *
 * Thread-safe once constructed.
 */
class Topology {
public:
    /** The machine's, read at the first call in a process: some milliseconds.
     *  hwloc's environment variables apply (HWLOC_XMLFILE). */
    static const Topology &machine();

    enum class Place {
        Unknown,
        Near, /* beside a CPU that this process may run on */
        Far   /* only beside others: its DMA crosses between sockets */
    };

    /** Place of network or RDMA device `device` (eth0, mlx5_0). Takes the
     *  process's CPU binding of this moment. */
    Place place(const std::string &device) const;

    /** The NUMA node that the device is at, as the kernel numbers it; -1 if
     *  unknown. */
    int numa_node(const std::string &device) const;

    /** What is on the PCI bus, as far as it matters to GPUs and NICs; empty if
     *  unknown. */
    void read_bus(topology::PciTree &bus) const;

    /** Another machine's, from what `lstopo machine.xml` has written there. */
    static std::unique_ptr<Topology> from_xml(const std::string &path);

    ~Topology();
    Topology(const Topology &)            = delete;
    Topology &operator=(const Topology &) = delete;

private:
    explicit Topology(const char *xml = nullptr);

    struct Tree;
    std::unique_ptr<Tree> tree_;
};

} // namespace fuselink

#endif
