/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_UCS_EXT_TOPOLOGY_DEVICES_H
#define FUSELINK_UCS_EXT_TOPOLOGY_DEVICES_H

#include "connection.h"
#include "pci.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fuselink::topology {

struct Gpu {
    PciAddress  address;
    std::string uuid; /* GPU-..., as NVML and CUDA say; empty if unknown */
    std::string name; /* may be empty */
    int         numa_node = -1;
    double      pcie      = 0; /* bytes/s, each direction; 0 is unknown */
    /* One of CUDA's: NVML or a person has said so. Others are on the bus. */
    bool        cuda = false;
    /* Divided into instances (MIG). Those have no NVLink and no handles for
     * other processes, so such a GPU has no paths. */
    bool        mig = false;
};

struct Nic {
    std::vector<std::string>  names; /* mlx5_0, eth0; never empty */
    std::optional<PciAddress> address; /* none: a virtual one */
    int                       numa_node = -1;
    double                    pcie = 0; /* as of a GPU */
    double                    rate = 0; /* on the wire, bytes/s; 0 is unknown */

    bool is(std::string_view name) const;
};

/** Between two GPUs. */
struct NvLink {
    unsigned links          = 0; /* 0: none */
    bool     through_switch = false;
    double   rate = 0; /* of all, each direction, bytes/s; 0 is unknown */

    bool there() const { return links > 0; }
};

enum class PeerAccess { Unknown, Yes, No };

/**
 * The GPUs and NICs of a machine and what is between them. Plain data: filled once,
 * then only read, by any thread.
 *
 * GPUs are numbered as nvidia-smi does, by PCI address; CUDA may number them
 * otherwise.
 */
class Devices {
public:
    static constexpr size_t kMaxGpus = 64;
    static constexpr size_t kMaxNics = 256;

    /** Not more than there may be, and not twice. False if it was not added. */
    bool add(Gpu gpu);
    bool add(Nic nic);
    /** Sorts, numbers, and forgets all connections. */
    void number();

    size_t gpus() const { return gpus_.size(); }
    size_t nics() const { return nics_.size(); }
    const Gpu &gpu(size_t i) const { return gpus_[i]; }
    Gpu       &gpu(size_t i) { return gpus_[i]; }
    const Nic &nic(size_t i) const { return nics_[i]; }
    Nic       &nic(size_t i) { return nics_[i]; }

    std::optional<size_t> find_gpu(const PciAddress &address) const;
    /** By the whole UUID. */
    std::optional<size_t> find_gpu(std::string_view uuid) const;
    std::optional<size_t> find_nic(std::string_view name) const;

    Connection between_gpus(size_t a, size_t b) const { return pair(a, b).pcie; }
    Connection to_nic(size_t gpu, size_t nic) const
    {
        return to_nic_[gpu * nics_.size() + nic];
    }
    const NvLink &nvlink(size_t a, size_t b) const { return pair(a, b).nvlink; }
    /** May GPU a reach into the memory of b? */
    PeerAccess peer_access(size_t a, size_t b) const
    {
        return pair(a, b).access;
    }

    /* Between GPUs in both directions. */
    void set_between_gpus(size_t a, size_t b, Connection connection);
    void set_nvlink(size_t a, size_t b, const NvLink &link);
    void set_peer_access(size_t from, size_t to, PeerAccess access)
    {
        pair(from, to).access = access;
    }
    void set_to_nic(size_t gpu, size_t nic, Connection connection)
    {
        to_nic_[gpu * nics_.size() + nic] = connection;
    }

    /** What people should know of how this was found out; a line each. */
    std::vector<std::string> notes;

private:
    struct Pair {
        Connection pcie = Connection::Unknown;
        NvLink     nvlink;
        PeerAccess access = PeerAccess::Unknown;
    };
    const Pair &pair(size_t a, size_t b) const
    {
        return pairs_[a * gpus_.size() + b];
    }
    Pair &pair(size_t a, size_t b) { return pairs_[a * gpus_.size() + b]; }

    std::vector<Gpu>        gpus_;
    std::vector<Nic>        nics_;
    std::vector<Pair>       pairs_;
    std::vector<Connection> to_nic_;
};

} // namespace fuselink::topology

#endif
