/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* Peer: the control lane on rails that connect by name. */

#include "peer.h"

#include "../engine/engine.h"

namespace fuselink {

/* One side says which pair of rails the lane is on, so that there is one lane for
 * both directions: any rule that both can apply to their ids. */
bool Peer::asks_for_lane() const
{
    return engine_.uuid() < uuid();
}

/* A pair that connects by name, of a rail of ours and one of the peer's by their
 * numbers, which may be wrong. */
std::optional<RailPair> Peer::lane_pair(const wire::RailTable &table,
                                        uint8_t own, uint8_t remote) const
{
    const auto &rails = engine_.rails();
    if (own < rails.size() && rails[own]->by_ep()) {
        for (const auto &record : table.rails) {
            if (record.index == remote && rails[own]->reaches(record, {})) {
                return RailPair{rails[own].get(), &record};
            }
        }
    }
    return std::nullopt;
}

/* The peer's rails are known, and it knows ours, or will before what follows. */
void Peer::start_lane()
{
    if (lane_ || !hello_taken_) {
        return;
    }
    const auto &rails = engine_.rails();
    auto pairs        = pair_rails(rails, bulk_.table().rails);
    std::erase_if(pairs, [](const RailPair &pair) {
        return !pair.own->by_ep();
    });
    if (!(obstacles_ & kWiring) || pairs.empty()) {
        /* Our messages go another way (TCP, where our RDMA NICs are on standby),
         * or stay where the hello went. The peer may wait for a question. */
        if (asks_for_lane() && peer_to_ < rails.size() &&
            rails[peer_to_]->by_ep()) {
            wire::RailAddr none{};
            none.rail = peer_to_;
            none.from = peer_from_;
            none.use  = static_cast<uint8_t>(wire::LinkUse::Lane);
            QueuePair::decline(*this, none);
        }
        if (obstacles_ & kWiring) {
            lane_settled();
        }
        return;
    }
    if (!asks_for_lane()) {
        return;
    }
    /* The pair over which the peer's hello came moves data, at least datagrams. */
    auto pair = lane_pair(bulk_.table(), peer_to_, peer_from_);
    if (!pair) {
        pair = pairs[common_number() % pairs.size()];
    }
    lane_ = std::make_unique<QueuePair>(*this, endpoints_, *pair->own,
                                        *pair->remote, QueuePair::Use::Lane);
    lane_->ask();
    if (lane_->refused()) {
        lane_settled();
    }
}

void Peer::on_lane_step(const wire::RailAddr &message,
                        const std::vector<uint8_t> &address)
{
    auto       step  = static_cast<wire::LinkStep>(message.step);
    const bool waits = (obstacles_ & kWiring) && !asks_for_lane();
    if (!lane_ && step == wire::LinkStep::Refuse) {
        if (waits) {
            lane_settled();
        }
        return;
    }
    if (!lane_ && step == wire::LinkStep::Ask) {
        auto pair = lane_pair(bulk_.table(), message.rail, message.from);
        if (!pair || !(obstacles_ & (kConnecting | kWiring))) {
            QueuePair::decline(*this, message); /* our messages go another way */
            if (waits) {
                lane_settled();
            }
            return;
        }
        lane_ = std::make_unique<QueuePair>(*this, endpoints_, *pair->own,
                                            *pair->remote,
                                            QueuePair::Use::Lane);
    }
    if (!lane_ || !lane_->meant(message)) {
        ucs_debug("fuselink: peer %016lx wants a lane that is not ours",
                  uuid());
        return;
    }
    ucs_status_t status = lane_->on_message(message, address);
    if (status != UCS_OK) {
        fail(status);
    } else if ((obstacles_ & kWiring) && lane_->settled()) {
        lane_settled();
    }
}

/* Users' messages have waited: none has gone another way, so that they are in
 * order from the first. */
void Peer::lane_settled()
{
    if (lane_ && lane_->ready()) {
        if (hello_ != nullptr) {
            uct_ep_pending_purge(hello_, [](uct_pending_req_t *, void *) {},
                                 nullptr);
        }
        hook_.queued = false;
        obstacles_  &= ~kBlocked;
        control_     = lane_->ep();
        rail_        = &lane_->rail();
        lane_remote_ = lane_->remote().index;
    }
    obstacles_ &= ~kWiring;
    defer(); /* dispatches what has waited */
}

/* The key for small puts and gets on the control lane itself;
 * UCT_INVALID_RKEY if they have to go as messages (for now). */
uct_rkey_t Peer::lane_rkey(RemoteKey &key)
{
    if (!rail_->reads() || control_ == nullptr || key.on_gpu ||
        (rail_->by_ep() && control_ == hello_)) {
        return UCT_INVALID_RKEY;
    }
    uint8_t slot = bulk_.memory_slot(lane_remote_);
    if (slot >= wire::kMaxRails) {
        return UCT_INVALID_RKEY;
    }
    if (!key.nics) {
        key.nics = std::make_shared<NicKeys>();
    }
    if (key.nics->state(slot) == NicKeys::State::Unknown) {
        request_keys(key.region, key.nics);
    }
    return key.nics->get(slot, rail_->control().md());
}

} // namespace fuselink
