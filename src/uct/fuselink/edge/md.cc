/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "md.h"

#include "../../../ucs_ext/net.h"
#include "../../../ucs_ext/node.h"
#include "md_ops.h"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace fuselink {
namespace {

/* Transports of one NIC port, best first, if several could be its rail. */
int preference(const RailTraits *traits)
{
    return traits->routed_by_ip ? 1 : 0;
}

std::string known_devices(const std::vector<std::string> &names)
{
    std::string text;
    for (const auto &name : names) {
        text += (text.empty() ? "" : ", ") + name;
    }
    return text.empty() ? "none" : text;
}

} // namespace

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
    DeviceList  devices;
    WeightList  weights;
    std::string error;
    if (!DeviceList::parse(config.devices, devices, error)) {
        ucs_error("UCX_FUSELINK_DEVICES=%s: %s", config.devices,
                  error.c_str());
        return UCS_ERR_INVALID_PARAM;
    }
    if (!WeightList::parse(config.weights, weights, error)) {
        ucs_error("UCX_FUSELINK_WEIGHTS=%s: %s", config.weights,
                  error.c_str());
        return UCS_ERR_INVALID_PARAM;
    }
    ucs_status_t status = open_lower_mds({"tcp", "posix", "sysv", "cma",
                                          "self"}, lower_);
    if (status == UCS_OK) {
        status = find_lanes(config.node_lanes);
    }
    if (status == UCS_OK) {
        status = find_rails(devices, weights);
    }
    return status;
}

ucs_status_t Md::find_rails(const DeviceList &devices,
                            const WeightList &weights)
{
    std::vector<std::string> seen;
    for (const auto &md : lower_) {
        for (const auto &resource : md->resources()) {
            const RailTraits *traits = find_traits(resource.tl);
            if (traits == nullptr || resource.type != UCT_DEVICE_TYPE_NET) {
                continue;
            }
            bool loopback = resource.device == "lo";
            if (!loopback) {
                seen.push_back(resource.device);
            }
            /* These lead to no other node; whoever names one has a reason. */
            bool inner = loopback || net::is_inner_bridge(resource.device);
            if (!devices.allows(resource.device) ||
                (inner && !devices.explicit_names())) {
                continue;
            }
            RailCandidate candidate;
            candidate.md         = md.get();
            candidate.traits     = traits;
            candidate.device     = resource.device;
            candidate.sys_device = resource.sys_device;
            candidate.weight     = weights.weight(resource.device);
            candidates_.push_back(std::move(candidate));
        }
    }
    /* In the same order in all processes of like nodes, however the kernel
     * lists them: peers pair rails by position where nothing else decides. */
    std::stable_sort(candidates_.begin(), candidates_.end(),
                     [](const RailCandidate &a, const RailCandidate &b) {
                         int by_tl = preference(a.traits) -
                                     preference(b.traits);
                         return by_tl != 0 ? by_tl < 0 :
                                strverscmp(a.device.c_str(),
                                           b.device.c_str()) < 0;
                     });

    std::sort(seen.begin(), seen.end(),
              [](const std::string &x, const std::string &y) {
                  return strverscmp(x.c_str(), y.c_str()) < 0;
              });

    auto used = [&](const std::string &name) {
        return std::any_of(candidates_.begin(), candidates_.end(),
                           [&](const RailCandidate &c) {
                               return c.device == name;
                           });
    };
    if (devices.explicit_names()) {
        for (const auto &name : devices.names()) {
            if (!used(name)) {
                ucs_error("UCX_FUSELINK_DEVICES: no NIC port '%s' that is up; "
                          "ports here: %s", name.c_str(),
                          known_devices(seen).c_str());
                return UCS_ERR_NO_DEVICE;
            }
        }
    }
    if (candidates_.empty() && !seen.empty()) {
        ucs_warn("UCX_FUSELINK_DEVICES leaves no NIC port, only peers of this "
                 "node can be reached; ports here: %s",
                 known_devices(seen).c_str());
    }
    for (const auto &[name, weight] : weights.entries()) {
        if (!used(name)) {
            ucs_warn("UCX_FUSELINK_WEIGHTS: '%s' is not a rail", name.c_str());
        }
    }
    return UCS_OK;
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
