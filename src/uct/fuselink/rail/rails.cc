/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "rails.h"

#include "../wire/messages.h"
#include "locked_memory.h"
#include "named_rails.h"
#include "subnets.h"

#include <algorithm>

namespace fuselink {
namespace {

/* Between two questions to ports, each of which may take some 100 us. */
constexpr sched::Nanos kPortPause = sched::Nanos::millis(20);
/* For one that has no link for long. */
constexpr sched::Nanos kLongestPortPause = sched::Nanos::millis(160);

void forget(LeftOuts &left_out, const std::string &device)
{
    std::erase_if(left_out, [&](const LeftOut &one) { return one.port == device; });
}

size_t longest_message(const Rail &rail)
{
    return std::min(rail.control().attr().cap.am.max_bcopy,
                    rail.hello().attr().cap.am.max_bcopy);
}

} // namespace

/* UCX's tcp calls each end a time-out. Its kernel gives up after tries; and it has closed
 * the socket of a connection that the other end has ended in order. */
bool Rails::is_reset(uct_ep_h ep) const
{
    const auto rail = std::find_if(rails_.begin(), rails_.end(), [&](const auto &one) {
        return one->hello().handle() == ep->iface ||
               one->control().handle() == ep->iface ||
               one->bulk().handle() == ep->iface;
    });
    StreamState state;
    return rail != rails_.end() && (*rail)->traits().stream &&
           (!host_.streams().look(ep, state) ||
            (state.retransmits == 0 && state.probes == 0 && !state.unreachable()));
}

ucs_status_t Rails::on_error(void *arg, uct_ep_h ep, ucs_status_t status)
{
    const auto &rails = *static_cast<Rails *>(arg);
    if (status == UCS_ERR_ENDPOINT_TIMEOUT && rails.is_reset(ep)) {
        status = UCS_ERR_CONNECTION_RESET;
    }
    rails.lanes_.on_error(ep, status);
    /* Handled: what the user hears of it comes from the peer. */
    return UCS_OK;
}

Rails::Rails(Host &host, Poller &poller, Lanes &lanes)
    : host_(host), poller_(poller), lanes_(lanes)
{
    table_.uuid = wire::make_uuid(host.network_signature(), host.random64());
}

ucs_status_t Rails::open(const Settings &settings,
                         const std::vector<RailCandidate> &candidates,
                         uct_worker_h worker, const uct_iface_params_t *params,
                         const std::function<ucs_status_t(Rail &)> &prepare)
{
    settings_              = settings;
    user_                  = *params;
    prepare_               = prepare;
    lower_.worker          = worker;
    lower_.user            = &user_;
    lower_.rx_headroom     = settings.rx_headroom;
    lower_.err_handler     = on_error;
    lower_.err_handler_arg = this;
    lower_.async_cb        = Poller::on_async_event;
    lower_.async_arg       = &poller_;

    auto chosen = without_shared_subnets(host_.network(), candidates,
                                         left_out_);
    lower_.rails = std::min(chosen.size(), wire::kMaxRails);
    for (const auto &candidate : chosen) {
        if (rails_.size() == wire::kMaxRails) {
            ucs_warn("fuselink: more than %zu NIC ports; %s and those after it "
                     "are not used, choose others with UCX_FUSELINK_DEVICES",
                     wire::kMaxRails, candidate.device.c_str());
            for (size_t i = static_cast<size_t>(&candidate - chosen.data());
                 i < chosen.size(); ++i) {
                leave_out(chosen[i], "there are as many rails as can be");
            }
            break;
        }
        if (!may_lock(candidate, lower_.rails)) {
            continue;
        }
        auto rail = open_one(candidate, 0);
        if (rail == nullptr) {
            continue;
        }
        said_uneven_ = said_uneven_ || candidate.named;
        enlist(std::move(rail));
    }
    name_unlocked(lower_.rails);
    if (rails_.empty()) {
        ucs_error("fuselink: no NIC port could be opened; "
                  "UCX_FUSELINK_DEVICES selects the ports to use");
        return UCS_ERR_NO_DEVICE;
    }
    warn_of_no_rails("UCX_FUSELINK_STANDBY", settings.standby, rails_);
    return UCS_OK;
}

Rail *Rails::enlist(std::unique_ptr<Rail> rail)
{
    rail->standby = !settings_.standby_none &&
                    settings_.standby.allows(rail->control().device());
    table_.rails.push_back(rail->record());
    rails_.push_back(std::move(rail));
    return rails_.back().get();
}

std::vector<RailCandidate> Rails::candidates_in_use() const
{
    std::vector<RailCandidate> all;
    for (const auto &rail : rails_) {
        all.push_back({.traits = &rail->traits(), .device = rail->control().device()});
    }
    return all;
}

bool Rails::is_settled(const std::string &device) const
{
    return std::any_of(rails_.begin(), rails_.end(),
                       [&](const auto &rail) {
                           return rail->control().device() == device;
                       }) ||
           std::any_of(left_out_.begin(), left_out_.end(), [&](const LeftOut &one) {
               return one.port == device && one.for_good;
           });
}

/* It is known by another name, from before it was renamed or its address moved. */
bool Rails::has_address_of(const Rail &rail) const
{
    const wire::NetAddress address = rail.record().net;
    return address.family != 0 &&
           std::any_of(table_.rails.begin(), table_.rails.end(),
                       [&](const wire::RailRecord &one) { return one.net == address; });
}

/* What peers and UCP were told of the others stays true. */
Rail *Rails::add(const RailCandidate &candidate)
{
    if (rails_.size() == wire::kMaxRails) {
        leave_out(candidate, "there are as many rails as can be");
        return nullptr;
    }
    auto all = candidates_in_use();
    all.push_back(candidate);
    LeftOuts why;
    if (!has_own_subnet(host_.network(), candidate, all, why)) {
        leave_out(candidate, why.front().why, false); /* it may get another address */
        return nullptr;
    }
    auto rail = open_one(candidate, max_message());
    if (rail == nullptr) {
        return nullptr;
    }
    forget(left_out_, candidate.device);
    return enlist(std::move(rail));
}

/* nullptr if the candidate is no rail; then it is among those left out. It has to take
 * messages of so many bytes. */
std::unique_ptr<Rail> Rails::open_one(const RailCandidate &candidate, size_t message)
{
    std::unique_ptr<Rail> rail;
    ucs_status_t status = Rail::open(candidate,
                                     static_cast<uint8_t>(rails_.size()),
                                     host_.network(), lower_, rail);
    if (status == UCS_OK && !candidate.named && adds_little(*rail)) {
        ucs_debug("fuselink: %s is not used beside much faster RDMA NICs "
                  "unless UCX_FUSELINK_DEVICES names it",
                  rail->name().c_str());
        leave_out(candidate, "far slower than the RDMA NICs beside it");
        return nullptr;
    }
    if (status == UCS_OK && longest_message(*rail) < message) {
        leave_out(candidate, "takes shorter messages than the rails that there were");
        return nullptr;
    }
    if (status == UCS_OK && has_address_of(*rail)) {
        leave_out(candidate, "has the address of another rail", false);
        return nullptr;
    }
    if (status == UCS_OK) {
        status = prepare_(*rail);
    }
    if (status == UCS_OK) {
        status = rail->watch(poller_);
    }
    if (status != UCS_OK) {
        ucs_warn("fuselink: NIC port %s is not used: %s",
                 candidate.device.c_str(), ucs_status_string(status));
        leave_out(candidate, ucs_status_string(status),
                  status == UCS_ERR_UNSUPPORTED);
        return nullptr;
    }
    return rail;
}

void Rails::leave_out(const RailCandidate &candidate, const std::string &why,
                      bool for_good)
{
    forget(left_out_, candidate.device); /* what was said of it before */
    left_out_.push_back({candidate.device, why, for_good});
}

/* Whether the process may lock what the queues of an RDMA port take. */
bool Rails::may_lock(const RailCandidate &candidate, size_t rails)
{
    if (candidate.traits->routed_by_ip ||
        can_lock(host_, *candidate.md, queue_memory(rails))) {
        return true;
    }
    unlocked_ += (unlocked_.empty() ? "" : ", ") + candidate.device;
    leave_out(candidate, "too little locked memory (ulimit -l)");
    return false;
}

void Rails::name_unlocked(size_t rails) const
{
    if (!unlocked_.empty()) {
        ucs_warn("fuselink: NIC ports that are not used because each needs %zu "
                 "MB of locked memory, of which this process may have %lu kB "
                 "(ulimit -l): %s", queue_memory(rails) >> 20,
                 host_.locked_memory_limit() >> 10, unlocked_.c_str());
    }
}

/* A TCP port beside RDMA NICs that are far faster, most likely one of a
 * management network: it costs the CPU more than it brings. RDMA candidates
 * come first, so they are all open by now. */
bool Rails::adds_little(const Rail &rail) const
{
    constexpr double kShare = 1.0 / 8;
    return rail.traits().routed_by_ip &&
           std::any_of(rails_.begin(), rails_.end(), [&](const auto &other) {
               return !other->traits().routed_by_ip &&
                      rail.speed() < kShare * other->speed();
           });
}

bool Rails::take_ports_due(sched::Nanos now)
{
    if (now < ask_ports_at_) {
        return false;
    }
    const bool due = suspected_ ||
                     std::any_of(rails_.begin(), rails_.end(), [](const auto &rail) {
                         return rail->is_port() && !rail->carrier;
                     });
    if (due) {
        port_pause_   = suspected_ ? kPortPause :
                                     std::min(port_pause_ * 2, kLongestPortPause);
        suspected_    = false;
        ask_ports_at_ = now + port_pause_;
    }
    return due;
}

size_t Rails::max_message() const
{
    size_t most = SIZE_MAX;
    for (const auto &rail : rails_) {
        most = std::min(most, longest_message(*rail));
    }
    return most;
}

size_t Rails::max_put_bcopy() const
{
    return max_message() - sizeof(wire::PutData);
}

Rail::Route Rails::route_to(const wire::RailRecord &remote, uint64_t peer) const
{
    Rail::Route route;
    if (remote.net.family != 0) {
        const Routes::Way way = routes_.to(remote.net, host_.network(), host_.now());
        route.ifindex         = way.ifindex;
        route.loopback        = way.loopback;
        route.astray          = way.loopback && !wire::same_network(uuid(), peer);
    }
    return route;
}

bool Rails::reaches(const wire::RailTable &address) const
{
    for (const auto &remote : address.rails) {
        if (route_to(remote, address.uuid).astray) {
            continue;
        }
        for (const auto &rail : rails_) {
            if (rail->speaks_with(remote)) {
                return true;
            }
        }
    }
    warn_apart(address);
    return false;
}

/* Once: it is a setting, and then the same with all peers of that node. */
void Rails::warn_apart(const wire::RailTable &address) const
{
    if (said_apart_) {
        return;
    }
    said_apart_ = true;
    std::string here, there;
    for (const auto &traits : all_traits()) {
        std::string tl(traits.tl);
        if (std::any_of(rails_.begin(), rails_.end(), [&](const auto &rail) {
                return &rail->traits() == &traits;
            })) {
            here += (here.empty() ? "" : ",") + tl;
        }
        if (std::any_of(address.rails.begin(), address.rails.end(),
                        [&](const auto &rail) {
                return rail.tl_hash == wire::hash_name(tl.c_str());
            })) {
            there += (there.empty() ? "" : ",") + tl;
        }
    }
    ucs_warn("fuselink: no rail of this process (%s) reaches one of peer "
             "%016lx (%s); see UCX_FUSELINK_RAIL_TLS and UCX_FUSELINK_DEVICES",
             here.c_str(), address.uuid,
             there.empty() ? "none known here" : there.c_str());
}

uint16_t Rails::without_link() const
{
    uint16_t bits = 0;
    for (const auto &rail : rails_) {
        bits = static_cast<uint16_t>(bits | !rail->carrier << rail->index());
    }
    return bits;
}

void Rails::compare(const wire::RailTable &theirs)
{
    if (said_uneven_ || theirs.rails.size() == rails_.size()) {
        return;
    }
    said_uneven_ = true;
    std::string here, there;
    for (const auto &rail : rails_) {
        here += (here.empty() ? "" : ",") + rail->name();
    }
    for (const auto &rail : theirs.rails) {
        there += (there.empty() ? "" : ",") + rail.name;
    }
    ucs_warn("fuselink: this process has %zu rails (%s) and peer %016lx has %zu "
             "(%s): each side uses those that reach one of the other's. "
             "fuselink_info shows which NIC ports of a node are no rails and why; "
             "UCX_FUSELINK_DEVICES names those that are meant", rails_.size(),
             here.c_str(), theirs.uuid, theirs.rails.size(), there.c_str());
}

} // namespace fuselink
