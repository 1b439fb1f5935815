/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* Peer: over which rail the control lane goes, and the next one if it does
 * not connect. */

#include "peer.h"

#include "../engine/engine.h"

#include <algorithm>
#include <utility>

namespace fuselink {
namespace {

/* Which rails may carry the control lane: best first. */
enum class Choice {
    Near,   /* their own route leads to the peer's NIC, and they are near */
    Active, /* their own route leads there, and they are not on standby */
    Routed, /* their own route leads there */
    Any,    /* the kernel gets there somehow */
};

bool usable(const Rail &rail, const wire::RailRecord &remote,
            const Rail::Route &route, Choice choice)
{
    if (choice == Choice::Any) {
        return rail.speaks_with(remote);
    }
    return rail.reaches(remote, route) &&
           (choice != Choice::Near || rail.near()) &&
           (choice == Choice::Routed || !rail.standby);
}

/* Messages want the shortest way: a NIC that needs no kernel, wherever it is, if
 * the user does not keep it for emergencies. */
std::pair<bool, bool> order(const Rail &rail)
{
    return {rail.standby, rail.traits().routed_by_ip};
}

} // namespace

ucs_status_t Peer::connect(const wire::RailTable &address, bool later)
{
    plan_ways(address);
    if (ways_.empty()) {
        ucs_error("fuselink: no rail of this process reaches peer %016lx; "
                  "UCX_FUSELINK_DEVICES must name a NIC port that both have",
                  uuid_);
        return UCS_ERR_UNREACHABLE;
    }
    obstacles_ |= kConnecting;
    if (later || engine_.poller().busy()) {
        engine_.defer(*this);
        return UCS_OK;
    }
    return connect_now();
}

uint64_t Peer::common_number() const
{
    uint64_t mix = engine_.uuid() ^ uuid_;
    mix ^= mix >> 32;
    return mix ^ (mix >> 16);
}

void Peer::plan_ways(const wire::RailTable &address)
{
    /* Both sides compute the same starting point, so that the two directions
     * share a connection: a stream then carries the acknowledgements of one
     * direction on the data of the other. Different peers start at different
     * rails. A NIC beside this process comes first, connection shared or
     * not. */
    uint64_t mix = common_number();

    size_t count = address.rails.size();
    std::vector<Rail::Route> routes;
    for (size_t k = 0; k < count; ++k) {
        routes.push_back(Rail::route_to(address.rails[(mix + k) % count],
                                        engine_.uuid(), uuid_));
    }
    ways_.clear();
    for (Choice choice : {Choice::Near, Choice::Active, Choice::Routed,
                          Choice::Any}) {
        if (choice == Choice::Any && !ways_.empty()) {
            break; /* if the peer refuses, it does so on another route too */
        }
        for (size_t k = 0; k < count; ++k) {
            const auto &remote = address.rails[(mix + k) % count];
            if (routes[k].astray) {
                continue;
            }
            for (const auto &rail : engine_.rails()) {
                if (!usable(*rail, remote, routes[k], choice)) {
                    continue;
                }
                bool known = std::any_of(
                    ways_.begin(), ways_.end(), [&](const Way &lane) {
                        return lane.rail == rail.get() &&
                               lane.remote.index == remote.index;
                    });
                if (!known) {
                    ways_.push_back({rail.get(), remote});
                }
                break;
            }
        }
    }
    std::stable_sort(ways_.begin(), ways_.end(), [](const Way &a, const Way &b) {
        return order(*a.rail) < order(*b.rail);
    });
}

ucs_status_t Peer::connect_now()
{
    obstacles_ &= ~kConnecting;
    for (; way_ < ways_.size(); ++way_) {
        const Way &way      = ways_[way_];
        ucs_status_t status = engine_.create_lane(*this, way.rail->hello(),
                                                  way.remote, hello_);
        if (status == UCS_OK) {
            control_     = hello_;
            rail_        = way.rail;
            lane_remote_ = way.remote.index;
            obstacles_  &= ~kWiring;
            if (rail_->by_ep()) {
                obstacles_ |= kWiring; /* until the table is known */
            }
            say_hello();
            return UCS_OK;
        }
        ucs_debug("fuselink: no connection over %s: %s",
                  way.rail->name().c_str(), ucs_status_string(status));
    }
    ucs_error("fuselink: peer %016lx does not answer on any of the %zu rails "
              "that reach it", uuid_, ways_.size());
    return UCS_ERR_UNREACHABLE;
}

/* The lane failed before it took a message: nothing is lost with it. */
void Peer::next_way()
{
    way_failed_ = false;
    engine_.destroy_lane(hello_);
    control_ = hello_ = nullptr;
    hook_.queued = false;
    room_later_  = false;
    obstacles_  &= ~kBlocked;
    obstacles_  |= kConnecting;
    ++way_;
    /* The hello names the lane that it goes over. */
    if (!queue_.empty() &&
        queue_.front()[0] == static_cast<uint8_t>(wire::ControlType::Hello)) {
        queue_bytes_ -= queue_.front().size();
        queue_.pop_front();
    }
}

/* True if the peer's messages to us come over the same connection as ours to
 * it, where a rail has one for both directions. */
bool Peer::shares_lane() const
{
    return peer_session_ != 0 && way_ < ways_.size() && rail_ != nullptr &&
           rail_->traits().stream &&
           ways_[way_].rail->index() == peer_to_ &&
           ways_[way_].remote.index == peer_from_;
}

void Peer::on_lane_error(uct_ep_h ep, ucs_status_t status)
{
    if (ep == leave_.ep) {
        leave_.ep_failed = true;
        leave_.said = leave_.said_stopped = false;
        engine_.defer(*this);
    } else if (ep == hello_ && !hello_taken_ && !failed()) {
        way_failed_ = true;
        engine_.defer(*this);
    } else if (ep == control_) {
        if (!failed() && (epochs_.outstanding() != 0 || sends_.open() != 0)) {
            ucs_warn("fuselink: rail %s, over which messages go to peer "
                     "%016lx, has failed (%s): the connection has failed",
                     rail_->name().c_str(), uuid_, ucs_status_string(status));
        }
        leave_.lane_broken = true;
        leave_.said = leave_.said_stopped = false;
        fail(status);
    } else if (lane_ && ep == lane_->ep() && lane_->on_error()) {
        engine_.defer(*this);
    } else if (!bulk_.on_path_error(ep, status)) {
        fail(status);
    }
}

ucs_status_t Peer::check(unsigned flags, uct_completion_t *comp)
{
    if (failed()) {
        return failed_;
    }
    if (obstacles_ & kConnecting) {
        return UCS_OK;
    }
    return uct_ep_check(control_, flags, comp);
}

void Peer::close_lanes()
{
    bulk_.close();
    if (leave_.ep != nullptr) {
        engine_.destroy_lane(leave_.ep);
        leave_.ep = nullptr;
    }
    /* Their ends may end flushes of the lane. */
    lane_.reset();
    if (hello_ != nullptr) {
        engine_.destroy_lane(hello_);
    }
    control_ = hello_ = nullptr;
    hook_.queued      = false;
}

} // namespace fuselink
