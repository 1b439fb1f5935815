/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "rail.h"

#include "poller.h"

#include <algorithm>

namespace fuselink {
namespace {

/* The address of `iface`'s NIC that its transport publishes. Found by its
 * bytes, not by the layout of the transport's address, which is private. */
const net::InterfaceAddress *
published_address(const UctIface &iface,
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

/* The window of one peer, as UCX has it (UCX_RC_FC_WND_SIZE). */
constexpr size_t kLeastReceiveQueue = 512;

/* Buffers for messages that UCX adds at a time, by its own default
 * (UCX_IB_TX_BUFS_GROW). */
constexpr size_t kSendBuffers      = 1024;
constexpr size_t kLeastSendBuffers = 64;

/* A rail's part of what a single NIC would have pinned for messages: the
 * process has the same messages on all rails together. */
void divide_buffers(size_t receive, size_t send, UctIfaceParams &params)
{
    params.overrides.push_back(
        {"RX_QUEUE_LEN", std::to_string(std::max(receive,
                                                 kLeastReceiveQueue))});
    params.overrides.push_back(
        {"TX_BUFS_GROW", std::to_string(std::max(send, kLeastSendBuffers))});
}

} // namespace

ucs_status_t Rail::open(const RailCandidate &candidate, uint8_t index,
                        Network &network, const UctIfaceParams &params,
                        std::unique_ptr<Rail> &rail)
{
    std::unique_ptr<Rail> result(new Rail);
    result->index_  = index;
    result->traits_ = candidate.traits;

    std::string tl(candidate.traits->tl);
    UctIfaceParams own = params;
    if (candidate.traits->stream) {
        /* A rail that a peer does not answer on must not hold up the others
         * while it tries. */
        own.overrides.push_back({"CONN_NB", "y"});
        /* An event at a time. Of several that the kernel reported at once, UCX
         * asserts that all connections are still there when it comes to them;
         * but one breaks in a call, made from inside the callback of an earlier
         * event: answers go from there, UCP's and ours. */
        own.overrides.push_back({"MAX_POLL", "1"});
        /* Longer messages go in pieces, each with system calls of its own. UCX's 8 kB are
         * few for a fast NIC. Beyond 16 kB, with headers, pieces go over several NICs. */
        if (!user_has_set(*candidate.md, tl, "RX_SEG_SIZE")) { /* which may be less */
            own.overrides.push_back({"TX_SEG_SIZE", "17k"});
        }
    }
    /* Hellos are few; datagrams in place of queue pairs are for few peers. */
    UctIfaceParams hello = own;
    divide_buffers(0, 0, hello);
    if (candidate.traits->retry_time != 0 && params.rails > 1 &&
        !user_has_set(*candidate.md, tl, "TIMEOUT") &&
        !user_has_set(*candidate.md, tl, "RETRY_COUNT")) {
        result->retry_time_ = sched::Nanos::micros(candidate.traits->retry_time);
        own.overrides.push_back(
            {"TIMEOUT", std::to_string(candidate.traits->retry_time) + "us"});
        own.overrides.push_back({"RETRY_COUNT", "6"}); /* 7: soft-RoCE for ever */
    }
    if (candidate.traits->receive_queue != 0 && params.rails > 1) {
        divide_buffers(candidate.traits->receive_queue / params.rails,
                       kSendBuffers / params.rails, own);
    }
    ucs_status_t status  = UctIface::open(*candidate.md, tl,
                                          candidate.device, own,
                                          result->control_);
    if (status == UCS_OK && !candidate.traits->bootstrap.empty()) {
        status = UctIface::open(*candidate.md,
                                std::string(candidate.traits->bootstrap),
                                candidate.device, hello, result->hello_);
    }
    if (status != UCS_OK) {
        return status;
    }
    if (!result->suitable()) {
        return UCS_ERR_UNSUPPORTED;
    }
    if (candidate.traits->stream) {
        /* Where it finds no buffer for the completion of a put that has gone, UCX says
         * that the put has failed, and what is left of it is not sent: the stream is of
         * no use any more. The chunks that may be under way are the limit. */
        own.overrides.push_back({"TX_MAX_BUFS", "-1", true});
        status = UctIface::open(*candidate.md, tl, candidate.device, own,
                                result->bulk_);
        if (status != UCS_OK) {
            return status;
        }
    }
    result->memory_ = candidate.memory;
    result->health.begin(index, result->name(), result->traffic);

    const uct_iface_attr_t &attr = result->control_->attr();
    result->speed_ = std::max(attr.bandwidth.dedicated + attr.bandwidth.shared,
                              1.0) * candidate.weight;
    result->nic    = sched::Nic(sched::Rate(result->speed_), !result->reads());

    /* RDMA devices are named with their port: mlx5_0:1. */
    std::string nic = candidate.device.substr(0, candidate.device.find(':'));
    result->near_ = network.place(nic) != Topology::Place::Far;
    ucs_debug("fuselink: rail %d is %s, NUMA node %d%s", index,
              result->name().c_str(), network.numa_node(nic),
              result->near_ ? "" : ", not this process's");

    if (candidate.traits->routed_by_ip) {
        auto addresses   = network.interface_addresses();
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

bool Rail::look_at(const Carrier &carrier)
{
    if (is_port()) {
        return carrier.port_carries(control_->device())
            .value_or(this->carrier); /* its device may be gone */
    }
    if (net_.family != 0 && !carrier.has(ifindex_, net_.family, net_.bytes)) {
        const int holder = carrier.holder(net_.family, net_.bytes);
        if (holder == 0) {
            return false;
        }
        ifindex_ = holder;
    }
    return carrier.carries(ifindex_);
}

void Rail::introduce(Network &network, sched::Nanos now)
{
    if (ucs_unlikely(introduction.due(now)) && net_.family == 4 && ifindex_ != 0 && carrier) {
        network.introduce(ifindex_, net_.bytes);
    }
}

/* Says why not, once, with the setting that is the likely reason. */
bool Rail::suitable() const
{
    constexpr uint64_t kMessages = UCT_IFACE_FLAG_AM_SHORT |
                                   UCT_IFACE_FLAG_AM_BCOPY |
                                   UCT_IFACE_FLAG_PENDING;
    const char *lacks = nullptr;
    if (!control_->has(kMessages) || !hello().has(kMessages)) {
        lacks = "messages";
    } else if (!hello().has(UCT_IFACE_FLAG_CONNECT_TO_IFACE) ||
               (by_ep() && !control_->has(UCT_IFACE_FLAG_CONNECT_TO_EP))) {
        lacks = "a way to connect";
    } else if (!by_messages() && !control_->has(UCT_IFACE_FLAG_PUT_ZCOPY)) {
        lacks = traits_->stream ? "put (UCX_TCP_PUT_ENABLE=n?)" : "put";
    } else if (reads() && !control_->has(UCT_IFACE_FLAG_GET_ZCOPY)) {
        lacks = "get";
    }
    if (lacks != nullptr) {
        ucs_warn("fuselink: %s cannot be a rail: it has no %s",
                 name().c_str(), lacks);
    }
    return lacks == nullptr;
}

/* Has the poller look after all interfaces, or none. */
ucs_status_t Rail::watch(Poller &poller)
{
    for (const UctIface *iface : {control_.get(), bulk_.get(),
                                  hello_.get()}) {
        if (iface != nullptr) {
            iface->prepare_progress();
        }
    }
    const bool cheap = traits_->cheap_polls;
    const auto add   = [&](const UctIface &iface, unsigned &index) {
        return poller.add(iface.handle(), iface.attr().cap.event_flags,
                          iface.name(), cheap, index);
    };
    ucs_status_t status = add(*control_, poll_control_);
    if (status != UCS_OK) {
        return status;
    }
    poll_bulk_ = poll_hello_ = poll_control_;
    /* A rail has one of the two at most. */
    if (bulk_) {
        status = add(*bulk_, poll_bulk_);
    } else if (hello_) {
        status = add(*hello_, poll_hello_);
    }
    if (status != UCS_OK) {
        poller.remove(poll_control_);
        return status;
    }
    /* Any peer's messages may arrive here, at the latency of such a NIC. With
     * queue pairs they arrive where a QueuePair says so; hellos have time. */
    if (cheap && !by_ep()) {
        poller.hold(poll_control_);
    }
    return UCS_OK;
}

wire::RailRecord Rail::record() const
{
    wire::RailRecord record;
    record.index            = index_;
    record.tl_hash          = wire::hash_name(control_->tl().c_str());
    record.net              = net_;
    record.device_address   = hello().device_address();
    record.iface_address    = hello().iface_address();
    if (by_ep() && control_->device_address() != hello().device_address()) {
        record.lane_address = control_->device_address();
    }
    record.memory = traits_->needs_keys ? static_cast<uint8_t>(memory_) :
                                          wire::RailRecord::kNoKeys;
    record.name             = name();
    record.bytes_per_second = static_cast<uint64_t>(std::min(speed_, 1e18));
    return record;
}

bool Rail::speaks_with(const wire::RailRecord &remote) const
{
    return remote.tl_hash == wire::hash_name(control_->tl().c_str()) &&
           hello().is_reachable(remote.device_address,
                                remote.iface_address);
}

bool Rail::reaches(const wire::RailRecord &remote, const Route &route) const
{
    if (route.astray || !speaks_with(remote)) {
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
