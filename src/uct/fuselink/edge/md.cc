/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "md.h"

#include "../../../ucs_ext/node.h"
#include "md_ops.h"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace fuselink {

ucs_status_t Md::open(uct_component_t *component, const char *,
                      const uct_md_config_t *config, uct_md_h *md_p)
{
    std::unique_ptr<Md> md(new Md);
    md->ops       = &md_ops;
    md->component = component;
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
    ucs_status_t status = open_lower_mds({"tcp", "ib", "posix", "sysv",
                                          "cma", "self"}, lower_);
    if (status == UCS_OK) {
        status = find_lanes(config.node_lanes);
    }
    if (status == UCS_OK) {
        status = find_rails(config);
    }
    return status;
}

ucs_status_t Md::find_rails(const MdConfig &config)
{
    RailChoice  choice;
    std::string error;
    if (!DeviceList::parse(config.devices, choice.devices, error)) {
        ucs_error("UCX_FUSELINK_DEVICES=%s: %s", config.devices,
                  error.c_str());
        return UCS_ERR_INVALID_PARAM;
    }
    if (!WeightList::parse(config.weights, choice.weights, error)) {
        ucs_error("UCX_FUSELINK_WEIGHTS=%s: %s", config.weights,
                  error.c_str());
        return UCS_ERR_INVALID_PARAM;
    }
    if (!parse_rail_tls(config.rail_tls, choice.tls, error)) {
        ucs_error("UCX_FUSELINK_RAIL_TLS=%s: %s", config.rail_tls,
                  error.c_str());
        return UCS_ERR_INVALID_PARAM;
    }
    ucs_status_t status = find_candidates(lower_, choice, candidates_);
    for (auto &candidate : candidates_) {
        if (candidate.traits->needs_keys) {
            candidate.memory = nics_.add(*candidate.md);
        }
    }
    key_size_ = packed_key_size(nics_);
    return status;
}

ucs_status_t Md::find_lanes(const char *setting)
{
    std::vector<std::string> names;
    for (std::string_view rest(setting); !rest.empty();) {
        size_t comma = rest.find(',');
        names.emplace_back(rest.substr(0, comma));
        rest.remove_prefix(comma == std::string_view::npos ? rest.size() :
                                                             comma + 1);
    }
    if (names.size() == 1 && names[0] == "none") {
        names.clear();
    } else if (names.empty()) {
        names.emplace_back(); /* an error like any other unknown name */
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
            LowerMd *&lane = name == "cma" ? bulk_lane_ : message_lane_;
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

    uint64_t random = ucs_generate_uuid(reinterpret_cast<uintptr_t>(this));
    node_signature_ = message_lane_ != nullptr ?
                          fuselink::node_signature(lanes,
                                                   ucs_get_system_id()) :
                          random;
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
    if (md.message_lane() != nullptr) {
        add(kNodeDevice, UCT_DEVICE_TYPE_SHM, UCS_SYS_DEVICE_ID_UNKNOWN);
    }
    if (md.self_lane() != nullptr) {
        add(kSelfDevice, UCT_DEVICE_TYPE_SELF, UCS_SYS_DEVICE_ID_UNKNOWN);
    }
    *devices = list;
    *count   = n;
    return UCS_OK;
}

} // namespace fuselink
