/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_UCS_EXT_TOPOLOGY_H
#define FUSELINK_UCS_EXT_TOPOLOGY_H

#include <memory>
#include <string>

namespace fuselink {

/**
 * Where NICs stand in the machine, from hwloc. Without hwloc, and for NICs
 * that stand nowhere (virtual ones), everything is unknown.
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

    ~Topology();
    Topology(const Topology &)            = delete;
    Topology &operator=(const Topology &) = delete;

private:
    Topology();

    struct Tree;
    std::unique_ptr<Tree> tree_;
};

} // namespace fuselink

#endif
