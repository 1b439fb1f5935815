/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "rail.h"

#include "../../../ucs_ext/net.h"
#include "../../../ucs_ext/topology.h"
#include "../engine/engine.h"

#include <algorithm>

namespace fuselink {
namespace {

/* The address of `iface`'s NIC that its transport publishes. Found by its
 * bytes, not by the layout of the transport's address, which is private. */
const net::InterfaceAddress *
published_address(const LowerIface &iface,
                  const std::vector<net::InterfaceAddress> &all)
{
    const auto &published = iface.device_address();
    for (const auto &one : all) {
        size_t size = one.family == 4 ? 4 : 16;
        if (one.device == iface.device() &&
            std::search(published.begin(), published.end(),
                        one.address.begin(), one.address.begin() + size) !=
                published.end()) {
            return &one;
        }
    }
    return nullptr;
}

} // namespace

ucs_status_t Rail::open(const RailCandidate &candidate, uint8_t index,
                        Engine &engine, const LowerIfaceParams &params,
                        std::unique_ptr<Rail> &rail)
{
    std::unique_ptr<Rail> result(new Rail);
    result->index_  = index;
    result->engine_ = &engine;
    result->traits_ = candidate.traits;

    std::string tl(candidate.traits->tl);
    LowerIfaceParams own = params;
    own.err_handler_arg  = result.get();
    ucs_status_t status  = LowerIface::open(*candidate.md, tl,
                                            candidate.device, own,
                                            result->control_);
    if (status != UCS_OK) {
        return status;
    }
    constexpr uint64_t needed = UCT_IFACE_FLAG_AM_SHORT |
                                UCT_IFACE_FLAG_AM_BCOPY |
                                UCT_IFACE_FLAG_PENDING |
                                UCT_IFACE_FLAG_PUT_ZCOPY |
                                UCT_IFACE_FLAG_CONNECT_TO_IFACE;
    if (!result->control_->has(needed) ||
        !candidate.traits->put_completes_remotely) {
        ucs_debug("fuselink: %s cannot be a rail: it lacks messages or put",
                  result->name().c_str());
        return UCS_ERR_UNSUPPORTED;
    }
    if (candidate.traits->stream) {
        /* A rail that the peer does not answer on must not hold up the
         * others while it tries. */
        own.overrides.push_back({"CONN_NB", "y"});
        status = LowerIface::open(*candidate.md, tl, candidate.device, own,
                                  result->bulk_);
        if (status != UCS_OK) {
            return status;
        }
    }

    const uct_iface_attr_t &attr = result->control_->attr();
    result->speed_ = std::max(attr.bandwidth.dedicated + attr.bandwidth.shared,
                              1.0) * candidate.weight;

    /* RDMA devices are named with their port: mlx5_0:1. */
    std::string nic = candidate.device.substr(0, candidate.device.find(':'));
    const Topology &machine = Topology::machine();
    result->near_ = machine.place(nic) != Topology::Place::Far;
    ucs_debug("fuselink: rail %d is %s, NUMA node %d%s", index,
              result->name().c_str(), machine.numa_node(nic),
              result->near_ ? "" : ", not this process's");

    if (candidate.traits->routed_by_ip) {
        auto addresses   = net::interface_addresses();
        const auto *mine = published_address(*result->control_, addresses);
        if (mine != nullptr) {
            result->ifindex_    = mine->ifindex;
            result->net_.family = mine->family;
            result->net_.bytes  = mine->address;
        }
    }
    rail = std::move(result);
    return UCS_OK;
}

ucs_status_t Rail::watch(Poller &poller)
{
    ucs_status_t status = poller.add(*control_, poll_control_);
    poll_bulk_          = poll_control_;
    if (status == UCS_OK && bulk_) {
        status = poller.add(*bulk_, poll_bulk_);
        if (status != UCS_OK) {
            poller.remove(poll_control_);
        }
    }
    return status;
}

wire::RailRecord Rail::record() const
{
    wire::RailRecord record;
    record.index            = index_;
    record.tl_hash          = wire::hash_name(control_->tl().c_str());
    record.net              = net_;
    record.device_address   = control_->device_address();
    record.iface_address    = control_->iface_address();
    record.name             = name();
    record.bytes_per_second = static_cast<uint64_t>(std::min(speed_, 1e18));
    record.connect_to_ep    = bulk().has(UCT_IFACE_FLAG_CONNECT_TO_EP);
    return record;
}

Rail::Route Rail::route_to(const wire::RailRecord &remote, uint64_t own,
                           uint64_t peer)
{
    Route route;
    if (remote.net.family != 0) {
        route.ifindex  = net::route_ifindex(remote.net.family,
                                            remote.net.bytes);
        route.loopback = net::is_loopback(route.ifindex);
        route.astray   = route.loopback && !wire::same_network(own, peer);
    }
    return route;
}

bool Rail::reaches(const wire::RailRecord &remote, const Route &route) const
{
    if (route.astray ||
        remote.tl_hash != wire::hash_name(control_->tl().c_str()) ||
        !control_->is_reachable(remote.device_address,
                                remote.iface_address)) {
        return false;
    }
    if (!traits_->routed_by_ip || remote.net.family == 0 || ifindex_ == 0) {
        return true;
    }
    if (remote.net.family != net_.family) {
        return false;
    }
    if (route.ifindex == ifindex_) {
        return true;
    }
    /* Two processes of one node that may not use the node's lanes: the kernel
     * delivers over loopback whatever the NIC. Pair equal positions. */
    return route.loopback && remote.index == index_;
}

} // namespace fuselink
