/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "link.h"

#include "../engine/engine.h"
#include "../rail/rail.h"
#include "peer.h"

namespace fuselink {

using wire::LinkStep;

Link::Link(Rail &rail, const wire::RailRecord &remote, Use use)
    : rail_(rail), remote_(remote), use_(use)
{
}

Link::~Link()
{
    drop();
}

void Link::drop()
{
    if (ep_ != nullptr) {
        uct_ep_h ep = ep_;
        ep_         = nullptr;
        peer_->engine().destroy_lane(ep); /* ends the proof */
        if (use_ == Use::Lane) {
            peer_->engine().poller().release(rail_.poll_index());
        }
        --rail_.qps;
    }
}

void Link::reset()
{
    drop();
    connected_ = false;
    again_     = true;
    if (state_ != State::Refused) {
        state_ = State::Idle;
    }
}

void Link::prove()
{
    state_ = State::Unproved;
    arm(proof_, on_proof);
    ucs_status_t status = uct_ep_check(ep_, 0, nullptr);
    if (status == UCS_OK || status == UCS_INPROGRESS) {
        status = uct_ep_flush(ep_, 0, &proof_);
    }
    if (status == UCS_INPROGRESS) {
        state_ = State::Proving;
        peer_->engine().poller().hold(rail_.poll_index());
    } else if (status != UCS_ERR_NO_RESOURCE) {
        settle(status == UCS_OK ? State::Ready : State::Failed);
    } else {
        peer_->defer(); /* again */
    }
}

void Link::on_proof(uct_completion_t *comp)
{
    auto *link = reinterpret_cast<Link *>(comp);
    link->peer_->engine().poller().release(link->rail_.poll_index());
    if (link->ep_ != nullptr && link->state_ == State::Proving) {
        link->settle(comp->status == UCS_OK ? State::Ready : State::Failed);
    }
}

void Link::settle(State state)
{
    state_ = state;
    if (failed() && !again_ && peer_->note_deaf(rail_.index(), remote_.index)) {
        ucs_warn("fuselink: rail %s connects to %s of peer %016lx but moves no "
                 "data: left out", rail_.name().c_str(), remote_.name.c_str(),
                 peer_->uuid());
    }
    peer_->defer();
}

bool Link::on_error()
{
    if (ready()) {
        return false;
    }
    if (!failed()) {
        settle(State::Failed);
    }
    return true;
}

void Link::advance()
{
    if (state_ == State::Unproved) {
        prove();
    }
}

ucs_status_t Link::create(Peer &peer, std::vector<uint8_t> &address)
{
    const LowerIface &iface = rail_.control();
    ucs_status_t status     = iface.create_unconnected_ep(&ep_);
    peer_                   = &peer;
    if (status != UCS_OK) {
        ep_ = nullptr;
        return status;
    }
    ++rail_.qps;
    if (use_ == Use::Lane) { /* users wait for what arrives on it */
        peer_->engine().poller().hold(rail_.poll_index());
    }
    peer_->engine().add_lane(peer, ep_);
    status = iface.get_ep_address(ep_, address);
    return status == UCS_OK && address.size() > UINT8_MAX ?
               UCS_ERR_UNSUPPORTED : status;
}

ucs_status_t Link::connect(const std::vector<uint8_t> &address)
{
    ucs_status_t status = rail_.control().connect_ep(
        ep_, remote_.lane_address.empty() ? remote_.device_address :
                                            remote_.lane_address,
        address);
    connected_ = status == UCS_OK;
    return status;
}

void Link::say(Peer &peer, LinkStep step, const std::vector<uint8_t> &address)
{
    wire::RailAddr message{};
    message.rail   = remote_.index;
    message.from   = rail_.index();
    message.use    = static_cast<uint8_t>(use_);
    message.length = static_cast<uint8_t>(address.size());
    send(peer, step, message, address);
}

void Link::decline(Peer &peer, const wire::RailAddr &question)
{
    wire::RailAddr message{};
    message.rail = question.from;
    message.from = question.rail;
    message.use  = question.use;
    send(peer, LinkStep::Refuse, message, {});
}

void Link::send(Peer &peer, LinkStep step, wire::RailAddr message,
                const std::vector<uint8_t> &address)
{
    message.header.type = static_cast<uint8_t>(wire::ControlType::RailAddr);
    message.step        = static_cast<uint8_t>(step);
    peer.send_control(&message, sizeof(message), address.data(),
                      address.size());
}

/* No queue pair: the limit is reached, or the NIC has no more. */
void Link::refuse(Peer &peer)
{
    drop();
    state_ = State::Refused;
    say(peer, LinkStep::Refuse);
}

void Link::ask(Peer &peer)
{
    if (state_ != State::Idle) {
        return;
    }
    std::vector<uint8_t> address;
    if (rail_.qps >= peer.engine().settings().max_qps ||
        create(peer, address) != UCS_OK) {
        refuse(peer);
        return;
    }
    state_ = State::Asked;
    say(peer, LinkStep::Ask, address);
}

bool Link::meant(const wire::RailAddr &message) const
{
    return message.use == static_cast<uint8_t>(use_) &&
           message.rail == rail_.index() && message.from == remote_.index;
}

ucs_status_t Link::on_message(Peer &peer, const wire::RailAddr &message,
                              const std::vector<uint8_t> &address)
{
    ucs_status_t status = UCS_OK;
    std::vector<uint8_t> own;
    switch (static_cast<LinkStep>(message.step)) {
    case LinkStep::Ask:
        if (state_ == State::Refused) {
            say(peer, LinkStep::Refuse);
            return UCS_OK;
        }
        if (state_ == State::Idle) {
            if (rail_.qps >= peer.engine().settings().max_qps ||
                create(peer, own) != UCS_OK) {
                refuse(peer);
                return UCS_OK;
            }
            state_ = State::Answered;
        } else if (state_ == State::Asked && !connected_) {
            status = rail_.control().get_ep_address(ep_, own);
        } else {
            break;
        }
        if (status == UCS_OK) {
            status = connect(address);
        }
        if (status == UCS_OK) {
            say(peer, LinkStep::Answer, own);
        }
        return status;
    case LinkStep::Answer:
        if (state_ != State::Asked) {
            break;
        }
        if (!connected_) {
            status = connect(address);
        }
        if (status == UCS_OK) {
            say(peer, LinkStep::Ready);
            prove();
        }
        return status;
    case LinkStep::Ready:
        if (state_ == State::Answered) {
            prove();
        }
        return UCS_OK;
    case LinkStep::Refuse:
        if (state_ >= State::Unproved) {
            break;
        }
        drop();
        state_ = State::Refused;
        return UCS_OK;
    }
    ucs_debug("fuselink: link step %d of peer %016lx out of turn",
              message.step, peer.uuid());
    return UCS_OK;
}

} // namespace fuselink
