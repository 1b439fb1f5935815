/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_EDGE_MD_H
#define FUSELINK_EDGE_MD_H

#include "../config/config.h"
#include "../config/device_list.h"
#include "../host/host.h"
#include "../memory/region.h"
#include "../memory/remote_key.h"
#include "../rail/candidates.h"
#include "../relay/nvlinks.h"
#include "../ucx.h"

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace fuselink {

/* The memory domain of device `rails`, and that of `node` and `self`: what a device can do
 * with memory is an attribute of its domain. Memory of GPUs is for `rails` alone, and keys
 * end at a word of their owner only where somebody looks at them, which a process of the
 * same node that reads another's memory does not. */
inline constexpr const char *kMdName     = "fuselink";
inline constexpr const char *kNodeMdName = "fuselink_node";

inline constexpr const char *kRailsDevice = "rails";
inline constexpr const char *kNodeDevice  = "node";
inline constexpr const char *kSelfDevice  = "self";

/** fuselink's memory domain: the domains of the transports it composes, and
 *  the memory that peers may name. Thread-safe after open, as UCT asks. */
class Md : public uct_md_t {
public:
    static ucs_status_t open(uct_component_t *component, const char *name,
                             const uct_md_config_t *config, uct_md_h *md);
    static Md &from(uct_md_h md) { return *static_cast<Md *>(md); }

    /** The process that it belongs to. */
    Host        &host() const { return host_; }
    RegionTable &regions() { return regions_; }
    /** The NICs that memory is registered with; none with tcp alone. */
    NicMemory   &nics() { return nics_; }
    /** Keys end by UCT_MD_MEM_DEREG_FLAG_INVALIDATE if they were packed for that. */
    bool         revokes() const { return revokes_; }
    /** Size of a packed key of this domain, bytes. */
    size_t       key_size() const { return key_size_; }
    const std::vector<RailCandidate> &candidates() const
    {
        return candidates_;
    }
    /** See FindLate. */
    std::optional<RailCandidate> find_late(const std::string &device) const
    {
        return find_late_candidate(host_.network(), lower_, choice_, device);
    }
    /** UCX's domain for memory of GPUs; nullptr if there are none. */
    UctMd *gpu() const { return gpu_; }
    /** And for reaching other processes' GPUs; nullptr if there is none. */
    UctMd *gpu_ipc() const { return gpu_ipc_; }
    /** True if `rails` takes memory of GPUs. */
    bool     takes_gpu() const { return takes_gpu_; }
    /** It is of a GPU, and the CPU cannot read it. */
    bool     on_gpu(const void *address, size_t length) const;
    /** The NICs, as slots of nics(), that are to reach memory of the calling
     *  thread's GPU themselves; a bit for each. */
    uint32_t direct_nics();
    /** Ports that are no candidates. */
    const LeftOuts &left_out() const { return left_out_; }

    /** The first of the configured message lanes of the node that this
     *  machine has; nullptr if none. */
    UctMd *message_lane() const { return message_lane_; }
    /** Bulk lane of the node; nullptr if none. */
    UctMd *bulk_lane() const { return bulk_lane_; }
    UctMd *self_lane() const { return self_lane_; }
    /** Of this machine; one for all workers, which asks NVML once. */
    NvLinks &nvlinks() { return *nvlinks_; }
    /** UCX_FUSELINK_TOPOLOGY, which has been looked at; empty: none. */
    const std::string &topology_file() const { return topology_file_; }

    /** Equal in two processes exactly if they reach each other by the node's
     *  lanes; never equal in others, nor with lanes disabled. */
    uint64_t node_signature() const { return node_signature_; }

private:
    friend void md_close(uct_md_h md);
    friend ucs_status_t query_devices(uct_md_h md,
                                      uct_tl_device_resource_t **devices,
                                      unsigned *count);
    explicit Md(Host &host) : host_(host), regions_(host) {}

    ucs_status_t configure(const MdConfig &config);
    ucs_status_t find_rails(const MdConfig &config);
    ucs_status_t find_lanes(const char *setting);
    ucs_status_t check_topology(const char *file);

    Host                                 &host_;
    std::vector<std::unique_ptr<UctMd>> lower_;
    RailChoice                            choice_;
    std::vector<RailCandidate>            candidates_;
    LeftOuts                              left_out_;
    bool                                  has_rails_ = true; /* else `node` and `self` */
    bool                                  revokes_   = false;
    bool                                  takes_gpu_ = false;
    UctMd                              *gpu_       = nullptr;
    UctMd                              *gpu_ipc_   = nullptr;
    UctMd                              *message_lane_ = nullptr;
    UctMd                              *bulk_lane_    = nullptr;
    UctMd                              *self_lane_    = nullptr;
    uint64_t                              node_signature_ = 0;
    RegionTable                           regions_;
    NicMemory                             nics_;
    size_t                                key_size_ = 0;
    std::string                           topology_file_;
    std::unique_ptr<NvLinks>              nvlinks_;
    std::mutex                            direct_mutex_;
    std::optional<GpuContext::Uuid>       direct_gpu_; /* that was last asked
                                                          for, and its NICs */
    uint32_t                              direct_nics_ = 0;
};

/** The memory domains that there are. */
ucs_status_t query_md_resources(uct_component_t *component,
                                uct_md_resource_desc_t **resources,
                                unsigned *count);

/** Devices of the `fuselink` transport on this MD: rails, node, self. */
ucs_status_t query_devices(uct_md_h md, uct_tl_device_resource_t **devices,
                           unsigned *count);

/* Remote keys; called on the component, without an MD. */
ucs_status_t rkey_unpack(const void *buffer, uct_rkey_t *rkey, void **handle);
ucs_status_t rkey_release(void *handle);

inline RemoteKey &remote_key(uct_rkey_t rkey)
{
    return *reinterpret_cast<RemoteKey *>(rkey);
}

/** The same for an operation, which needs no key (0) if it has no bytes. */
inline RemoteKey &remote_key_or_none(uct_rkey_t rkey)
{
    static thread_local RemoteKey none; /* names nothing */
    return ucs_unlikely(rkey == 0 || rkey == UCT_INVALID_RKEY) ?
               none : remote_key(rkey);
}

/** Size of a packed key that has the keys of as many NICs as fit. */
size_t packed_key_size(const NicMemory &nics);

} // namespace fuselink

#endif
