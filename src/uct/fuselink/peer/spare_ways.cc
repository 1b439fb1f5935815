/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "spare_ways.h"

#include "../engine/engine.h"
#include "peer.h"

#include <algorithm>

namespace fuselink {

void SpareWays::keep(const Way &way)
{
    auto spare      = std::make_unique<Spare>();
    spare->req.func = on_room;
    spare->peer     = &peer_;
    spare->way      = way;
    spare->state    = State::Silent;
    uct_ep_pending_purge(way.ep, [](uct_pending_req_t *, void *) {}, nullptr);
    if (uct_ep_pending_add(way.ep, &spare->req, 0) != UCS_OK) {
        spare->state = State::Connected; /* just now */
        peer_.engine().defer(peer_);
    }
    spares_.push_back(std::move(spare));
}

ucs_status_t SpareWays::on_room(uct_pending_req_t *req)
{
    auto *spare = reinterpret_cast<Spare *>(req);
    if (spare->state == State::Silent) {
        spare->state = State::Connected;
        spare->peer->engine().defer(*spare->peer);
    }
    return UCS_OK;
}

std::optional<SpareWays::Way> SpareWays::take()
{
    auto it = std::find_if(spares_.begin(), spares_.end(),
                           [](const auto &spare) {
        return spare->state == State::Connected;
    });
    if (it == spares_.end()) {
        return std::nullopt;
    }
    Way way = (*it)->way;
    spares_.erase(it);
    return way;
}

bool SpareWays::on_error(uct_ep_h ep)
{
    for (auto &spare : spares_) {
        if (spare->way.ep == ep) {
            spare->state = State::Broken;
            peer_.engine().defer(peer_);
            return true;
        }
    }
    return false;
}

void SpareWays::sweep()
{
    std::erase_if(spares_, [this](const auto &spare) {
        if (spare->state == State::Broken) {
            peer_.engine().destroy_lane(spare->way.ep);
            return true;
        }
        return false;
    });
}

void SpareWays::for_each_silent(
    const std::function<void(const Way &)> &fn) const
{
    for (const auto &spare : spares_) {
        if (spare->state != State::Connected) {
            fn(spare->way);
        }
    }
}

void SpareWays::close()
{
    for (const auto &spare : spares_) {
        peer_.engine().destroy_lane(spare->way.ep);
    }
    spares_.clear();
}

} // namespace fuselink
