/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "candidates.h"

#include "../../../ucs_ext/split.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace fuselink {
namespace {

bool natural_less(const std::string &x, const std::string &y)
{
    return strverscmp(x.c_str(), y.c_str()) < 0;
}

/* A resource that fuselink can drive. */
struct Port {
    UctMd                 *md;
    const UctMd::Resource *resource;
    const RailTraits        *traits;
    size_t                   rank; /* of the transport; 0 is best */
};

std::vector<Port> usable_ports(const std::vector<std::unique_ptr<UctMd>> &mds,
                               const std::vector<const RailTraits *> &tls)
{
    std::vector<Port> ports;
    for (const auto &md : mds) {
        for (const auto &resource : md->resources()) {
            const RailTraits *traits = find_traits(resource.tl);
            auto tl = std::find(tls.begin(), tls.end(), traits);
            if (traits == nullptr || resource.type != UCT_DEVICE_TYPE_NET ||
                tl == tls.end() ||
                !(traits->bootstrap.empty() ||
                  md->has(traits->bootstrap, resource.device))) {
                continue;
            }
            ports.push_back({md.get(), &resource, traits,
                             static_cast<size_t>(tl - tls.begin())});
        }
    }
    return ports;
}

std::string join(const std::vector<std::string> &names)
{
    std::string text;
    for (const auto &name : names) {
        text += (text.empty() ? "" : ", ") + name;
    }
    return text.empty() ? "none" : text;
}

/* Says, in one line, which RDMA ports are up and are no rails because UCX does
 * not offer them: it leaves them out without a word. Who wants none of them
 * allows no RDMA transport, or no such port. */
void warn_of_unusable(Network &network,
                      const std::vector<std::unique_ptr<UctMd>> &mds,
                      const RailChoice &choice, LeftOuts &left_out)
{
    bool rdma = std::any_of(choice.tls.begin(), choice.tls.end(),
                            [](const RailTraits *traits) {
                                return !traits->routed_by_ip;
                            });
    if (!rdma) {
        return;
    }
    std::vector<std::string> lost;
    auto offered = [&](const std::string &port) {
        return std::any_of(mds.begin(), mds.end(), [&](const auto &md) {
            return std::any_of(md->resources().begin(), md->resources().end(),
                               [&](const UctMd::Resource &resource) {
                                   return resource.device == port;
                               });
        });
    };
    for (auto &port : network.active_rdma_ports()) {
        if (choice.devices.allows(port) && !offered(port)) {
            lost.push_back(std::move(port));
        }
    }
    if (lost.empty()) {
        return;
    }
    std::sort(lost.begin(), lost.end(), natural_less);
    for (const auto &port : lost) {
        left_out.push_back({port, "up, and UCX cannot use it"});
    }
    const char *gid = getenv("UCX_IB_GID_INDEX");
    ucs_warn("fuselink: RDMA ports that are up and that UCX cannot use: %s. "
             "They have no GID of index UCX_IB_GID_INDEX=%s, this user may not "
             "open their /dev/infiniband/uverbs*, they are iWARP, or UCX has no "
             "module for RDMA",
             join(lost).c_str(), gid != nullptr ? gid : "auto");
}

/* Best transport first within a port; ports in an order that does not depend
 * on how the kernel lists them. IP interfaces last. */
void sort_ports(std::vector<Port> &ports)
{
    std::stable_sort(ports.begin(), ports.end(),
                     [](const Port &a, const Port &b) {
                         if (a.traits->routed_by_ip != b.traits->routed_by_ip) {
                             return b.traits->routed_by_ip;
                         }
                         if (a.resource->device != b.resource->device) {
                             return natural_less(a.resource->device,
                                                 b.resource->device);
                         }
                         return a.rank < b.rank;
                     });
}

/* An RDMA device drives it, which is the rail, or may be when it has a link at the start. */
bool is_of_rdma_port(Network &network, const RailChoice &choice, const std::string &device)
{
    if (std::all_of(choice.tls.begin(), choice.tls.end(),
                    [](const RailTraits *traits) { return traits->routed_by_ip; })) {
        return false;
    }
    for (const std::string &port : network.active_rdma_ports()) {
        const auto netdevs = network.rdma_netdevs(port);
        if (std::find(netdevs.begin(), netdevs.end(), device) != netdevs.end()) {
            return true;
        }
    }
    return false;
}

/* Its address is a subnet of its own, as those of tunnels and of containers often are. */
bool stands_alone(Network &network, const std::string &device)
{
    const auto all = network.interface_addresses();
    return std::none_of(all.begin(), all.end(), [&](const net::InterfaceAddress &one) {
        const size_t last = (one.family == 4 ? 4 : 16) - 1;
        const bool   link = one.family == 6 && one.address[0] == 0xfe &&
                          (one.address[1] & 0xc0) == 0x80;
        return one.device == device && !link && one.netmask[last] != 0xff;
    });
}

} // namespace

bool parse_rail_tls(std::string_view text,
                    std::vector<const RailTraits *> &tls, std::string &error)
{
    tls.clear();
    std::vector<std::string> known;
    for (const auto &traits : all_traits()) {
        known.emplace_back(traits.tl);
        if (text == "all") {
            tls.push_back(&traits);
        }
    }
    if (text == "all") {
        return true;
    }
    for (std::string_view name : split(text)) {
        const RailTraits *traits = find_traits(name);
        if (traits == nullptr ||
            std::find(tls.begin(), tls.end(), traits) != tls.end()) {
            error = (traits == nullptr ? "unknown transport '" :
                                         "twice the transport '") +
                    std::string(name) + "'; accepted: 'all' or a list of " +
                    join(known) + ", best first";
            return false;
        }
        tls.push_back(traits);
    }
    return true;
}

ucs_status_t find_candidates(Network &network,
                             const std::vector<std::unique_ptr<UctMd>> &mds,
                             const RailChoice &choice,
                             std::vector<RailCandidate> &candidates,
                             LeftOuts &left_out)
{
    const DeviceList &devices = choice.devices;
    std::vector<Port> ports   = usable_ports(mds, choice.tls);
    sort_ports(ports);

    std::vector<std::string> seen, driven;
    auto used = [&](const std::string &name) {
        return std::any_of(candidates.begin(), candidates.end(),
                           [&](const RailCandidate &c) {
                               return c.device == name;
                           });
    };
    for (const auto &port : ports) {
        const std::string &device = port.resource->device;
        bool loopback = device == "lo";
        if (!loopback &&
            std::find(seen.begin(), seen.end(), device) == seen.end()) {
            seen.push_back(device);
        }
        if (used(device)) {
            continue;
        }
        /* A port has several transports. */
        auto leave_out = [&](const char *why) {
            if (left_out.empty() || left_out.back().port != device) {
                left_out.push_back({device, why});
            }
        };
        if (!devices.allows(device)) {
            leave_out("UCX_FUSELINK_DEVICES does not allow it");
            continue;
        }
        /* These lead to no other node; whoever names one has a reason. */
        if (!devices.explicit_names()) {
            bool again = std::find(driven.begin(), driven.end(), device) !=
                         driven.end();
            if (loopback || again || network.is_inner_bridge(device)) {
                leave_out(loopback ? "loopback" :
                          again    ? "an RDMA port of the same NIC is used" :
                                     "a bridge with virtual ports only");
                continue;
            }
        }
        RailCandidate candidate;
        candidate.md         = port.md;
        candidate.traits     = port.traits;
        candidate.device     = device;
        candidate.sys_device = port.resource->sys_device;
        candidate.weight     = choice.weights.weight(device);
        candidate.named      = devices.explicit_names();
        if (!port.traits->routed_by_ip) {
            for (auto &netdev : network.rdma_netdevs(device)) {
                driven.push_back(std::move(netdev));
            }
        }
        candidates.push_back(std::move(candidate));
    }

    std::sort(seen.begin(), seen.end(), natural_less);
    warn_of_unusable(network, mds, choice, left_out);
    if (devices.explicit_names()) {
        for (const auto &name : devices.names()) {
            if (!used(name)) {
                ucs_error("UCX_FUSELINK_DEVICES: no NIC port '%s' that is up; "
                          "ports here: %s", name.c_str(), join(seen).c_str());
                return UCS_ERR_NO_DEVICE;
            }
        }
    }
    /* Nodes differ, so that is no error; it may be a slip of the pen. */
    if (devices.leaves_out()) {
        for (const auto &name : devices.names()) {
            if (std::find(seen.begin(), seen.end(), name) == seen.end() && name != "lo") {
                left_out.push_back({name, "UCX_FUSELINK_DEVICES leaves it out, but there is "
                                          "no such NIC port that is up"});
            }
        }
    }
    if (candidates.empty() && !seen.empty()) {
        ucs_warn("UCX_FUSELINK_DEVICES leaves no NIC port, only peers of this "
                 "node can be reached; ports here: %s", join(seen).c_str());
    }
    for (const auto &[name, weight] : choice.weights.entries()) {
        if (!used(name)) {
            ucs_warn("UCX_FUSELINK_WEIGHTS: '%s' is not a rail", name.c_str());
        }
    }
    return UCS_OK;
}

std::optional<RailCandidate>
find_late_candidate(Network &network, const std::vector<std::unique_ptr<UctMd>> &mds,
                    const RailChoice &choice, const std::string &device)
{
    if (!choice.devices.allows(device) || device == "lo" ||
        (!choice.devices.explicit_names() &&
         (network.is_inner_bridge(device) || is_of_rdma_port(network, choice, device) ||
          stands_alone(network, device)))) {
        return std::nullopt;
    }
    for (const RailTraits *traits : choice.tls) {
        if (!traits->stream) {
            continue;
        }
        for (const auto &md : mds) {
            if (md->find(std::string(traits->tl).c_str()) != nullptr) {
                return RailCandidate{.md     = md.get(),
                                     .traits = traits,
                                     .device = device,
                                     .weight = choice.weights.weight(device)};
            }
        }
    }
    return std::nullopt;
}

} // namespace fuselink
