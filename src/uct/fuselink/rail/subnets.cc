/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "subnets.h"

#include <algorithm>

namespace fuselink {
namespace {

using net::InterfaceAddress;

/* The address by which tcp will publish the device: IPv4 if it has one. */
const InterfaceAddress *main_address(const std::string &device,
                                     const std::vector<InterfaceAddress> &all)
{
    const InterfaceAddress *found = nullptr;
    for (const auto &one : all) {
        if (one.device == device && (found == nullptr || one.family == 4)) {
            if (found == nullptr || found->family != 4) {
                found = &one;
            }
        }
    }
    return found;
}

/* The port that packets to some other host of `own`'s subnet leave by. */
int subnet_ifindex(Network &network, const InterfaceAddress &own,
                   const std::vector<InterfaceAddress> &all)
{
    size_t last = (own.family == 4 ? 4 : 16) - 1;
    for (uint8_t flip : {1, 2, 3, 4}) {
        auto other   = own.address;
        other[last] ^= flip;
        bool is_own  = std::any_of(all.begin(), all.end(),
                                   [&](const InterfaceAddress &a) {
                                      return a.family == own.family &&
                                             a.address == other;
                                  });
        if (!is_own) {
            return network.route_ifindex(own.family, other);
        }
    }
    return 0;
}

/* The port of another candidate through which the kernel sends what is for the subnet of
 * this one; null if there is none. */
const InterfaceAddress *winner_of(Network &network, const InterfaceAddress *own,
                                  const std::vector<RailCandidate>    &candidates,
                                  const std::vector<InterfaceAddress> &all)
{
    const InterfaceAddress *winner = nullptr;
    if (own == nullptr) {
        return winner;
    }
    const int ifindex = subnet_ifindex(network, *own, all);
    for (const auto &other : candidates) {
        const auto *address = main_address(other.device, all);
        if (address != nullptr && address != own && address->same_subnet(*own) &&
            address->ifindex == ifindex) {
            winner = address;
        }
    }
    return winner;
}

bool has_own_subnet(Network &network, const RailCandidate &candidate,
                    const std::vector<RailCandidate>    &candidates,
                    const std::vector<InterfaceAddress> &all, LeftOuts &left_out)
{
    const auto *own    = candidate.traits->routed_by_ip ?
                             main_address(candidate.device, all) : nullptr;
    const auto *winner = winner_of(network, own, candidates, all);
    if (winner == nullptr) {
        return true;
    }
    ucs_warn("fuselink: NIC ports %s and %s are in one subnet, %s, and the kernel sends "
             "through %s only: %s is not used. Give each port a subnet of its own, or "
             "leave one out with UCX_FUSELINK_DEVICES",
             winner->device.c_str(), own->device.c_str(), own->subnet().c_str(),
             winner->device.c_str(), own->device.c_str());
    left_out.push_back({own->device, "in one subnet, " + own->subnet() + ", with " +
                                         winner->device +
                                         ", through which the kernel sends"});
    return false;
}

} // namespace

bool has_own_subnet(Network &network, const RailCandidate &candidate,
                    const std::vector<RailCandidate> &candidates, LeftOuts &left_out)
{
    return has_own_subnet(network, candidate, candidates, network.interface_addresses(),
                          left_out);
}

std::vector<RailCandidate>
without_shared_subnets(Network                          &network,
                       const std::vector<RailCandidate> &candidates,
                       LeftOuts &left_out)
{
    const auto                 all = network.interface_addresses();
    std::vector<RailCandidate> result;
    for (const auto &candidate : candidates) {
        if (has_own_subnet(network, candidate, candidates, all, left_out)) {
            result.push_back(candidate);
        }
    }
    return result;
}

} // namespace fuselink
