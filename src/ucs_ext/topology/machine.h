/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_UCS_EXT_TOPOLOGY_MACHINE_H
#define FUSELINK_UCS_EXT_TOPOLOGY_MACHINE_H

#include "devices.h"
#include "nic_list.h"
#include "nvml.h"
#include "pci_tree.h"

#include <string>
#include <vector>

namespace fuselink::topology {

/** What a machine is put together from; what is not there is no error. */
struct Sources {
    PciTree                bus;  /* hwloc's */
    std::vector<NicFacts>  nics; /* the kernel's */
    const NvmlCalls       *nvml = nullptr;
    std::string            file; /* UCX_FUSELINK_TOPOLOGY; empty: none */
};

/** False with one line if the file cannot be read or says what is not true. */
bool read(const Sources &sources, Devices &devices, std::string &error);

/** This machine, by hwloc, the kernel, NVML and `file`. Starts NVML for a moment, which
 *  takes up to a second on a machine whose driver sleeps. */
bool read_this(const std::string &file, Devices &devices, std::string &error);

} // namespace fuselink::topology

#endif
