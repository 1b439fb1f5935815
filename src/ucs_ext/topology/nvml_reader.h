/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_UCS_EXT_TOPOLOGY_NVML_READER_H
#define FUSELINK_UCS_EXT_TOPOLOGY_NVML_READER_H

#include "devices.h"
#include "nvml.h"

namespace fuselink::topology {

/** What NVML knows of a machine's GPUs. */
class NvmlReader {
public:
    explicit NvmlReader(const NvmlCalls &calls) : calls_(calls) {}

    /** Adds the GPUs. */
    void add_gpus(Devices &devices) const;

    /** For devices that are numbered: NVLinks, access between GPUs, and PCIe
     *  between them where it is not known yet. */
    void connect(Devices &devices) const;

private:
    using Handle = NvmlCalls::Device *;
    struct Links;

    std::vector<Handle> handles(const Devices &devices) const;
    std::optional<PciAddress> address_of(Handle handle) const;
    Links links_of(Handle handle, const Devices &devices) const;
    double link_speed(Handle handle) const;
    void   connect_nvlinks(const std::vector<Handle> &handles,
                           Devices                   &devices) const;
    void   connect_pair(Handle a, Handle b, size_t i, size_t j,
                        Devices &devices) const;

    const NvmlCalls &calls_;
};

} // namespace fuselink::topology

#endif
