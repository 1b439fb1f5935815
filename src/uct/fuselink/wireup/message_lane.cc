/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "message_lane.h"

#include "candidates.h"

#include <algorithm>
#include <utility>

namespace fuselink {

/* One side says which pair of rails the lane is on, so that there is one lane for
 * both directions: any rule that both can apply to their ids. */
bool MessageLane::asks() const
{
    return rails_.uuid() < conn_.uuid();
}

std::optional<RailPair> MessageLane::find_rails(const Rails           &rails,
                                                const wire::RailTable &theirs,
                                                uint8_t own, uint8_t remote)
{
    const auto &list = rails.list();
    if (own < list.size() && list[own]->by_ep()) {
        for (const auto &record : theirs.rails) {
            if (record.index == remote && list[own]->reaches(record, {})) {
                return RailPair{list[own].get(), &record};
            }
        }
    }
    return std::nullopt;
}

void MessageLane::start(uint8_t own, uint8_t remote)
{
    if (pair_ || !channel_.taken()) {
        return;
    }
    const auto &rails = rails_.list();
    auto pairs        = pair_rails(rails, theirs_.rails);
    std::erase_if(pairs, [](const RailPair &pair) {
        return !pair.own->by_ep();
    });
    if (!waited_for() || pairs.empty()) {
        /* Our messages go another way (TCP, where our RDMA NICs are on standby),
         * or stay where the hello went. The peer may wait for a question. */
        decline(own, remote);
        if (waited_for()) {
            settled();
        }
        return;
    }
    if (!asks()) {
        return;
    }
    /* The pair over which the peer's hello came moves data, at least datagrams. */
    auto chosen = find_rails(rails_, theirs_, own, remote);
    if (!chosen) {
        chosen = pairs[common_number(rails_.uuid(), conn_.uuid()) %
                       pairs.size()];
    }
    pair_ = std::make_unique<QueuePair>(conn_, endpoints_, *chosen->own,
                                        *chosen->remote, QueuePair::Use::Lane,
                                        ++turn_);
    pair_->ask();
    if (pair_ && pair_->refused()) {
        settled();
    }
}

void MessageLane::stay(uint8_t own, uint8_t remote)
{
    if (waited_for()) {
        stays_ = {own, remote};
    } else {
        decline(own, remote);
    }
}

void MessageLane::decline(uint8_t own, uint8_t remote)
{
    const auto &rails = rails_.list();
    if (asks() && own < rails.size() && rails[own]->by_ep()) {
        wire::RailAddr none{};
        none.rail = own;
        none.from = remote;
        none.use  = static_cast<uint8_t>(wire::LinkUse::Lane);
        QueuePair::decline(conn_, none);
    }
}

void MessageLane::on_step(const wire::RailAddr       &message,
                          const std::vector<uint8_t> &address)
{
    auto       step  = static_cast<wire::LinkStep>(message.step);
    const bool waits = waited_for() && !asks();
    if (pair_ && waits && step == wire::LinkStep::Refuse &&
        !pair_->meant(message)) {
        retire(); /* the question that it was for is out of date, too */
    }
    if (!pair_ && step == wire::LinkStep::Refuse) {
        if (waits) {
            settled();
        }
        return;
    }
    if (pair_ && !asks() && step == wire::LinkStep::Ask &&
        (waited_for() || (!pair_->meant(message) && pair_->settled() &&
                          !pair_->ready()))) {
        retire(); /* the peer has lost its end, and asks for another */
    }
    if (!pair_ && step == wire::LinkStep::Ask) {
        auto asked = find_rails(rails_, theirs_, message.rail, message.from);
        if (!asked || !channel_.has(ControlChannel::kConnecting |
                                      ControlChannel::kWiring)) {
            QueuePair::decline(conn_, message); /* our messages go another way */
            if (waits) {
                settled();
            }
            return;
        }
        pair_ = std::make_unique<QueuePair>(conn_, endpoints_, *asked->own,
                                            *asked->remote,
                                            QueuePair::Use::Lane,
                                            message.turn);
    }
    if (!pair_ || !pair_->meant(message)) {
        if (step == wire::LinkStep::Ask) { /* it waits for an answer */
            QueuePair::decline(conn_, message);
        }
        ucs_debug("fuselink: peer %016lx wants a lane that is not ours",
                  conn_.uuid());
        return;
    }
    ucs_status_t status = pair_->on_message(message, address);
    if (status != UCS_OK) {
        conn_.fail(status);
    } else {
        settle_pair();
    }
}

/* What it said may have broken the lane, and retired it. */
void MessageLane::settle_pair()
{
    if (pair_ && waited_for() && pair_->settled()) {
        settled();
    }
}

void MessageLane::retire()
{
    stays_.reset();
    if (pair_) {
        retired_.push_back(std::move(pair_));
    }
}

void MessageLane::drop_unused()
{
    if (pair_ && !waited_for() && channel_.ep() != pair_->ep() &&
        !channel_.has(ControlChannel::kConnecting)) {
        pair_.reset();
    }
    drop_retired();
}

void MessageLane::advance()
{
    if (!channel_.has(ControlChannel::kConnecting)) {
        drop_retired(); /* else one is the lane yet */
    }
    if (pair_) {
        pair_->advance();
        settle_pair();
    }
}

bool MessageLane::on_error(uct_ep_h ep)
{
    if (pair_ && ep == pair_->ep()) {
        if (!pair_->on_error()) {
            pair_->give_up(); /* it worked, and is not the lane yet */
        }
        conn_.defer();
        return true;
    }
    return std::any_of(retired_.begin(), retired_.end(),
                       [ep](const auto &pair) { return pair->ep() == ep; });
}

/* Users' messages have waited: none has gone another way, so that they are in
 * order from the first. */
void MessageLane::settled()
{
    const auto stays = std::exchange(stays_, std::nullopt);
    if (pair_ && pair_->ready()) {
        channel_.move_to(pair_->ep(), pair_->rail(), pair_->remote().index,
                         LaneEp::limits_of(pair_->rail().control()));
    } else if (stays) {
        decline(stays->first, stays->second); /* it waits for a question */
    }
    channel_.clear(ControlChannel::kWiring);
    conn_.defer(); /* dispatches what has waited */
}

} // namespace fuselink
