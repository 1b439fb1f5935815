/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "md.h"

#include "../../../ucs_ext/split.h"
#include "../config/ucx_engine.h"
#include "../relay/direct_nics.h"
#include "component.h"
#include "md_ops.h"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace fuselink {

namespace {

/* UCX's component for memory of GPUs; and for reaching those of other
 * processes. */
constexpr const char *kGpuComponent = "cuda_cpy";
constexpr const char *kGpuIpcComponent = "cuda_ipc";

/* The newer engine of UCX before 1.16 packs no key so that it may end, and takes what it has read
 * whatever it is told: a key that ended would not keep it from that. */
bool engine_revokes()
{
#ifdef FUSELINK_HAS_UCT_IFACE_INTERNAL_OPS_T_EP_IS_CONNECTED /* 1.16 */
    return true;
#else
    return !ucx_proto_enabled();
#endif
}

} // namespace

ucs_status_t query_md_resources(uct_component_t *,
                                uct_md_resource_desc_t **resources,
                                unsigned *count)
{
    *count     = 2;
    *resources = static_cast<uct_md_resource_desc_t *>(
        ucs_calloc(*count, sizeof(**resources), "fuselink domains"));
    if (*resources == nullptr) {
        return UCS_ERR_NO_MEMORY;
    }
    const char *names[] = {kMdName, kNodeMdName};
    for (unsigned i = 0; i < *count; ++i) {
        ucs_snprintf_zero((*resources)[i].md_name, UCT_MD_NAME_MAX, "%s",
                          names[i]);
    }
    return UCS_OK;
}

ucs_status_t Md::open(uct_component_t *component, const char *name,
                      const uct_md_config_t *config, uct_md_h *md_p)
{
    std::unique_ptr<Md> md(new Md(host_of_new_md()));
    md->ops       = &md_ops;
    md->component = component;
    md->has_rails_ = strcmp(name, kNodeMdName) != 0;
    md->revokes_   = md->has_rails_ && engine_revokes();
    ucs_status_t status =
        md->configure(*reinterpret_cast<const MdConfig *>(config));
    if (status != UCS_OK) {
        return status;
    }
    *md_p = md.release();
    return UCS_OK;
}

void md_close(uct_md_h md)
{
    delete &Md::from(md);
}

ucs_status_t Md::configure(const MdConfig &config)
{
    std::vector<std::string> names = {"posix", "sysv", "cma", "self"};
    if (has_rails_) {
        for (const auto &traits : all_traits()) {
            names.emplace_back(traits.component);
        }
        names.emplace_back(kGpuComponent);
        if (config.gpu_copies) {
            names.emplace_back(kGpuIpcComponent);
        }
    }
    ucs_status_t status = open_uct_mds(names, lower_);
    for (const auto &md : lower_) {
        if (md->component_name() == kGpuComponent) {
            gpu_ = md.get();
        } else if (md->component_name() == kGpuIpcComponent) {
            gpu_ipc_ = md.get();
        }
    }
    takes_gpu_  = gpu_ != nullptr && config.gpu_copies;
    const int gpu_direct = takes_gpu_ ? config.gpu_direct : UCS_NO;
    if (status == UCS_OK) {
        status = find_lanes(config.node_lanes);
    }
    if (status == UCS_OK && has_rails_) {
        status = find_rails(config);
    }
    if (status == UCS_OK) {
        status = check_topology(config.topology);
    }
    for (unsigned slot = 0; slot < nics_.count(); ++slot) {
        if (gpu_direct != UCS_NO && nics_.md(slot).takes_gpu_memory()) {
            nics_.allow_gpus(gpu_direct == UCS_YES);
        }
    }
    key_size_ = packed_key_size(nics_);
    return status;
}

/* A wrong file is said at the start of a job and not when the first GPU turns
 * up. */
ucs_status_t Md::check_topology(const char *file)
{
    std::string error;
    topology_file_ = file;
    nvlinks_       = std::make_unique<NvLinks>(topology_file_);
    if (!topology_file_.empty() && !nvlinks_->read(error)) {
        ucs_error("UCX_FUSELINK_TOPOLOGY=%s", error.c_str());
        return UCS_ERR_INVALID_PARAM;
    }
    return UCS_OK;
}

ucs_status_t Md::find_rails(const MdConfig &config)
{
    std::string error;
    if (!DeviceList::parse(config.devices, choice_.devices, error)) {
        ucs_error("UCX_FUSELINK_DEVICES=%s: %s", config.devices,
                  error.c_str());
        return UCS_ERR_INVALID_PARAM;
    }
    if (!WeightList::parse(config.weights, choice_.weights, error)) {
        ucs_error("UCX_FUSELINK_WEIGHTS=%s: %s", config.weights,
                  error.c_str());
        return UCS_ERR_INVALID_PARAM;
    }
    if (!parse_rail_tls(config.rail_tls, choice_.tls, error)) {
        ucs_error("UCX_FUSELINK_RAIL_TLS=%s: %s", config.rail_tls,
                  error.c_str());
        return UCS_ERR_INVALID_PARAM;
    }
    ucs_status_t status = find_candidates(host_.network(), lower_, choice_,
                                          candidates_, left_out_);
    for (auto &candidate : candidates_) {
        if (candidate.traits->needs_keys) {
            candidate.memory = nics_.add(*candidate.md);
        }
    }
    return status;
}

bool Md::on_gpu(const void *address, size_t length) const
{
    ucs_memory_type_t type;
    return takes_gpu_ && length != 0 &&
           uct_md_detect_memory_type(gpu_->handle(), address, length,
                                     &type) == UCS_OK &&
           type == UCS_MEMORY_TYPE_CUDA;
}

uint32_t Md::direct_nics()
{
    if (!nics_.any_for_gpus()) {
        return 0;
    }
    GpuContext::Uuid gpu;
    if (!GpuContext::uuid(gpu)) {
        return 0;
    }
    std::lock_guard lock(direct_mutex_);
    if (direct_gpu_ == gpu) {
        return direct_nics_;
    }
    direct_nics_ = fuselink::direct_nics(*nvlinks_, gpu, nics_);
    direct_gpu_  = gpu;
    return direct_nics_;
}

ucs_status_t Md::find_lanes(const char *setting)
{
    const std::vector<std::string_view> pieces = split(setting);
    std::vector<std::string> names(pieces.begin(), pieces.end());
    if (names.size() > 1 && names.back().empty()) {
        names.pop_back(); /* a comma at the end */
    }
    if (names.size() == 1 && names[0] == "none") {
        names.clear();
    }
    std::string lanes;
    for (const auto &name : names) {
        if (name != "posix" && name != "sysv" && name != "cma") {
            ucs_error("UCX_FUSELINK_NODE_LANES=%s: unknown lane '%s'; "
                      "accepted: a list of posix, sysv and cma, or 'none'",
                      setting, name.c_str());
            return UCS_ERR_INVALID_PARAM;
        }
        for (const auto &md : lower_) {
            if (md->find(name.c_str()) == nullptr) {
                continue;
            }
            UctMd *&lane = name == "cma" ? bulk_lane_ : message_lane_;
            if (lane == nullptr) {
                lane   = md.get();
                lanes += name + ",";
            }
        }
    }
    for (const auto &md : lower_) {
        if (md->find("self") != nullptr) {
            self_lane_ = md.get();
        }
    }

    node_signature_ = message_lane_ != nullptr ? host_.node_signature(lanes) :
                                                 host_.random64();
    return UCS_OK;
}

ucs_status_t query_devices(uct_md_h tl_md, uct_tl_device_resource_t **devices,
                           unsigned *count)
{
    const Md &md = Md::from(tl_md);
    auto *list   = static_cast<uct_tl_device_resource_t *>(
        ucs_calloc(3, sizeof(**devices), "fuselink devices"));
    if (list == nullptr) {
        return UCS_ERR_NO_MEMORY;
    }
    unsigned n = 0;
    auto add   = [&](const char *name, uct_device_type_t type,
                   ucs_sys_device_t sys_device) {
        ucs_snprintf_zero(list[n].name, sizeof(list[n].name), "%s", name);
        list[n].type       = type;
        list[n].sys_device = sys_device;
        ++n;
    };
    if (!md.candidates().empty()) {
        /* Rails of several NICs have no one place in the topology. */
        add(kRailsDevice, UCT_DEVICE_TYPE_NET,
            md.candidates().size() == 1 ? md.candidates()[0].sys_device :
                                          UCS_SYS_DEVICE_ID_UNKNOWN);
    }
    if (!md.has_rails_ && md.message_lane() != nullptr) {
        add(kNodeDevice, UCT_DEVICE_TYPE_SHM, UCS_SYS_DEVICE_ID_UNKNOWN);
    }
    if (!md.has_rails_ && md.self_lane() != nullptr) {
        add(kSelfDevice, UCT_DEVICE_TYPE_SELF, UCS_SYS_DEVICE_ID_UNKNOWN);
    }
    *devices = list;
    *count   = n;
    return UCS_OK;
}

} // namespace fuselink
