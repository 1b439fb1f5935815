/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* Peer: over which rail the control lane goes, and the next one if it does
 * not connect. */

#include "peer.h"

#include "../engine/engine.h"

#include <algorithm>
#include <tuple>

namespace fuselink {
namespace {

/* Messages want the shortest way: a NIC that needs no kernel, wherever it is, if
 * the user does not keep it for emergencies, and among equals one that is near. */
std::tuple<bool, bool, bool> order(const Rail &rail)
{
    return {rail.standby, rail.traits().routed_by_ip, !rail.near()};
}

} // namespace

ucs_status_t Peer::connect(const wire::RailTable &address, bool later)
{
    add_ways(address);
    if (ways_.empty()) {
        ucs_error("fuselink: no rail of this process reaches peer %016lx; "
                  "UCX_FUSELINK_DEVICES must name a NIC port that both have",
                  uuid());
        return UCS_ERR_UNREACHABLE;
    }
    obstacles_ |= kConnecting;
    if (later || engine_.poller().busy()) {
        defer();
        return UCS_OK;
    }
    return connect_now();
}

uint64_t Peer::common_number() const
{
    uint64_t mix = engine_.uuid() ^ uuid();
    mix ^= mix >> 32;
    return mix ^ (mix >> 16);
}

/* Ways that are not there yet. The peer's address has its first few rails, its
 * hello has all of them. */
void Peer::add_ways(const wire::RailTable &address)
{
    /* Both sides compute the same starting point, so that the two directions
     * share a connection: a stream then carries the acknowledgements of one
     * direction on the data of the other. Different peers start at different
     * rails. A NIC beside this process comes first, connection shared or
     * not. */
    const uint64_t mix    = common_number();
    const auto    &theirs = address.rails;
    const auto    &rails  = engine_.rails();
    ways_rails_           = theirs.size();
    for (bool own_route : {true, false}) {
        for (size_t k = 0; k < theirs.size(); ++k) {
            const auto &remote = theirs[(mix + k) % theirs.size()];
            Rail::Route route  = Rail::route_to(engine_.host().network(),
                                                 remote, engine_.uuid(), uuid());
            Rail       *best   = nullptr;
            for (const auto &rail : rails) {
                bool fits = own_route ? rail->traits().routed_by_ip &&
                                            rail->reaches(remote, route) :
                                        !route.astray &&
                                            rail->speaks_with(remote);
                if (fits && (best == nullptr || order(*rail) < order(*best))) {
                    best = rail.get();
                }
            }
            if (best != nullptr) {
                add_way(*best, remote);
            }
        }
        auto pairs = pair_rails(rails, theirs);
        for (size_t k = 0; k < pairs.size(); ++k) {
            const RailPair &pair = pairs[(mix + k) % pairs.size()];
            add_way(*pair.own, *pair.remote);
        }
        if (!ways_.empty()) {
            return;
        }
        /* No rail's own route leads there; the kernel may know another. If the
         * peer refuses, then it does so on that as well: only now. */
    }
}

void Peer::add_way(Rail &rail, const wire::RailRecord &remote)
{
    if (std::none_of(ways_.begin(), ways_.end(), [&](const Way &way) {
            return way.rail == &rail && way.remote.index == remote.index;
        })) {
        ways_.push_back({&rail, remote});
    }
}

/* The peer's hello has come. Where ours has not been taken, it may go the same
 * way. */
void Peer::learn_ways(const wire::Hello &hello, const wire::RailTable &table)
{
    if (hello_taken_) {
        return;
    }
    const size_t known = ways_.size();
    if (table.rails.size() > ways_rails_) {
        add_ways(table);
    }
    auto pair = lane_pair(table, hello.to, hello.from);
    if (pair) {
        add_way(*pair->own, *pair->remote);
    }
    auto theirs = std::find_if(ways_.begin(), ways_.end(),
                               [&](const Way &way) {
        return way.rail->index() == hello.to &&
               way.remote.index == hello.from;
    });
    if (theirs != ways_.end() && !theirs->rail->standby) {
        their_way_ = static_cast<size_t>(theirs - ways_.begin());
    }
    if (hello_ == nullptr) {
        defer(); /* there may be one to try */
    } else if (is_unanswered() && !rail_->traits().stream) {
        if (untried_way() == their_way_) {
            engine_.contacts().await(*this, FirstContacts::kImpatience);
        } else if (ways_.size() > known) {
            engine_.contacts().await(*this);
        }
    }
}

/* The best that was not tried; ways_.size() if there is none. */
size_t Peer::untried_way() const
{
    /* Of datagrams for hellos only, any NIC is as good as another. */
    if (their_way_ < ways_.size() && !ways_[their_way_].tried &&
        (way_since_ != sched::Nanos() || ways_[their_way_].rail->by_ep())) {
        return their_way_;
    }
    size_t best = ways_.size();
    for (size_t i = 0; i < ways_.size(); ++i) {
        if (!ways_[i].tried && (best == ways_.size() ||
                                order(*ways_[i].rail) <
                                    order(*ways_[best].rail))) {
            best = i;
        }
    }
    return best;
}

ucs_status_t Peer::connect_now()
{
    obstacles_ &= ~kConnecting;
    while ((way_ = untried_way()) < ways_.size()) {
        Way     &way = ways_[way_];
        uct_ep_h ep  = nullptr;
        way.tried    = true;
        way_since_   = engine_.now();
        ucs_status_t status = engine_.create_lane(*this, way.rail->hello(),
                                                  way.remote, ep);
        if (status == UCS_OK) {
            use_way(ep);
            return UCS_OK;
        }
        ucs_debug("fuselink: no connection over %s: %s",
                  way.rail->name().c_str(), ucs_status_string(status));
    }
    if (!spares_.empty()) {
        obstacles_ |= kConnecting; /* one of them may come about */
        return UCS_OK;
    }
    ucs_error("fuselink: peer %016lx does not answer on any of the %zu rails "
              "that reach it", uuid(), ways_.size());
    return UCS_ERR_UNREACHABLE;
}

/* The control lane is `ep`, for the way that way_ says. */
void Peer::use_way(uct_ep_h ep)
{
    const Way &way = ways_[way_];
    hello_ = control_ = ep;
    rail_        = way.rail;
    lane_remote_ = way.remote.index;
    obstacles_  &= ~(kConnecting | kWiring);
    if (rail_->by_ep()) {
        obstacles_ |= kWiring; /* until the table is known */
    }
    say_hello();
    /* Of a stream the kernel says early enough that it does not come about. */
    if (is_unanswered() && !rail_->traits().stream &&
        untried_way() < ways_.size()) {
        engine_.contacts().await(*this);
    }
}

/* There is no control lane any more; nothing was sent on it. */
void Peer::leave_way()
{
    control_ = hello_ = nullptr;
    hook_.queued = false;
    room_later_  = false;
    obstacles_  &= ~kBlocked;
    obstacles_  |= kConnecting;
    /* A hello names the lane that it goes over. */
    std::erase_if(queue_, [this](const std::vector<uint8_t> &message) {
        bool hello = message[0] ==
                     static_cast<uint8_t>(wire::ControlType::Hello);
        queue_bytes_ -= hello ? message.size() : 0;
        return hello;
    });
}

/* The lane failed before it took a message: nothing is lost with it. */
void Peer::next_way()
{
    way_failed_ = false;
    engine_.destroy_lane(hello_);
    leave_way();
}

void Peer::try_another_way()
{
    /* The answer may be there, on an interface that is looked at rarely. */
    engine_.poller().poll_now(rail_->poll_hello_index());
    if (!is_unanswered() || untried_way() == ways_.size()) {
        return;
    }
    ucs_debug("fuselink: peer %016lx has not answered over %s: trying another "
              "rail", uuid(), rail_->name().c_str());
    spares_.keep({way_, hello_, way_since_});
    leave_way();
    defer(); /* connects */
}

/* One that was tried before has come about, and so far nothing went over
 * another. */
void Peer::take_spare()
{
    auto spare = spares_.take();
    if (!spare) {
        return;
    }
    if (hello_ != nullptr) {
        spares_.keep({way_, hello_, way_since_});
        leave_way();
    }
    way_       = spare->index;
    way_since_ = spare->since;
    use_way(spare->ep);
}

/* Another one was answered. */
void Peer::name_silent_ways()
{
    const sched::Nanos now = engine_.now();
    spares_.for_each_silent([&](const SpareWays::Way &spare) {
        const Way &way = ways_[spare.index];
        if (way.rail->said_silent ||
            now - spare.since < FirstContacts::kPatience) {
            return;
        }
        way.rail->said_silent = true; /* there may be a thousand peers */
        ucs_warn("fuselink: rail %s has no answer from rail %d of peer %016lx "
                 "after %g s, and rail %s has: first messages go there",
                 way.rail->name().c_str(), way.remote.index, uuid(),
                 FirstContacts::kPatience.as_seconds(), rail_->name().c_str());
    });
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
        defer();
    } else if (ep == hello_ && !hello_taken_ && !failed()) {
        /* Perhaps inside a call that was going to send more: nothing may until
         * next_way() was there. */
        way_failed_  = true;
        obstacles_  |= kConnecting;
        defer();
    } else if (ep == control_) {
        leave_.lane_broken = true;
        leave_.said = leave_.said_stopped = false;
        fail_with_lane(status, false);
    } else if (lane_ && ep == lane_->ep() && lane_->on_error()) {
        defer();
    } else if (!spares_.on_error(ep) && !bulk_.on_path_error(ep, status)) {
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
    spares_.close();
}

} // namespace fuselink
