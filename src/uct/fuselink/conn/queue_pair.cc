/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "queue_pair.h"

#include "endpoint_check.h"

namespace fuselink {

using wire::LinkStep;

QueuePair::QueuePair(Connection &connection, Endpoints &endpoints, Rail &rail,
                     const wire::RailRecord &remote, Use use, uint8_t turn)
    : connection_(connection), endpoints_(endpoints), rail_(rail),
      remote_(remote), use_(use), turn_(turn)
{
}

QueuePair::~QueuePair()
{
    drop();
}

void QueuePair::drop()
{
    if (ep_ != nullptr) {
        uct_ep_h ep = ep_;
        ep_         = nullptr;
        endpoints_.destroy(ep); /* ends the probe */
        if (use_ == Use::Lane) {
            endpoints_.poller().release(rail_.poll_index());
        }
        --rail_.qps;
    }
}

void QueuePair::reset()
{
    drop();
    connected_ = false;
    again_     = true;
    if (state_ != State::Refused) {
        state_ = State::Idle;
    }
}

void QueuePair::probe()
{
    state_ = State::Unprobed;
    arm(probe_, on_probe);
    const ucs_status_t status = await_other_end(ep_, probe_);
    if (status == UCS_INPROGRESS) {
        state_ = State::Probing;
        endpoints_.poller().hold(rail_.poll_index());
    } else if (status != UCS_ERR_NO_RESOURCE) {
        settle(status == UCS_OK ? State::Ready : State::Failed);
    } else {
        connection_.defer(); /* again */
    }
}

void QueuePair::on_probe(uct_completion_t *comp)
{
    auto *pair = reinterpret_cast<QueuePair *>(comp);
    pair->endpoints_.poller().release(pair->rail_.poll_index());
    if (pair->ep_ != nullptr && pair->state_ == State::Probing) {
        pair->settle(comp->status == UCS_OK ? State::Ready : State::Failed);
    }
}

void QueuePair::settle(State state)
{
    state_ = state;
    if (failed() && !again_ &&
        endpoints_.note_no_data(rail_.index(), remote_.index)) {
        const auto level = rail_.health.say() ? UCS_LOG_LEVEL_WARN :
                                                UCS_LOG_LEVEL_INFO;
        ucs_log(level, "fuselink: rail %s connects to %s of peer %016lx but "
                "moves no data: left out", rail_.name().c_str(),
                remote_.name.c_str(), connection_.uuid());
    }
    connection_.defer();
}

bool QueuePair::on_error()
{
    if (ready()) {
        return false;
    }
    if (!failed()) {
        settle(State::Failed);
    }
    return true;
}

void QueuePair::advance()
{
    if (state_ == State::Unprobed) {
        probe();
    }
}

ucs_status_t QueuePair::create(std::vector<uint8_t> &address)
{
    const UctIface &iface = rail_.control();
    ucs_status_t status     = iface.create_unconnected_ep(&ep_);
    if (status != UCS_OK) {
        ep_ = nullptr;
        return status;
    }
    ++rail_.qps;
    if (use_ == Use::Lane) { /* users wait for what arrives on it */
        endpoints_.poller().hold(rail_.poll_index());
    }
    endpoints_.add(ep_);
    status = iface.get_ep_address(ep_, address);
    return status == UCS_OK && address.size() > UINT8_MAX ?
               UCS_ERR_UNSUPPORTED : status;
}

ucs_status_t QueuePair::connect(const std::vector<uint8_t> &address)
{
    ucs_status_t status = rail_.control().connect_ep(
        ep_, remote_.lane_address.empty() ? remote_.device_address :
                                            remote_.lane_address,
        address);
    connected_ = status == UCS_OK;
    return status;
}

void QueuePair::say(LinkStep step, const std::vector<uint8_t> &address)
{
    wire::RailAddr message{};
    message.rail   = remote_.index;
    message.from   = rail_.index();
    message.use    = static_cast<uint8_t>(use_);
    message.turn   = turn_;
    message.length = static_cast<uint8_t>(address.size());
    send(connection_, step, message, address);
}

void QueuePair::answer(Connection &connection, const wire::RailAddr &question,
                       LinkStep step)
{
    wire::RailAddr message{};
    message.rail = question.from;
    message.from = question.rail;
    message.use  = question.use;
    message.turn = question.turn;
    send(connection, step, message, {});
}

void QueuePair::send(Connection &connection, LinkStep step,
                     wire::RailAddr message,
                     const std::vector<uint8_t> &address)
{
    message.header.type = static_cast<uint8_t>(wire::ControlType::RailAddr);
    message.step        = static_cast<uint8_t>(step);
    connection.send_control(&message, sizeof(message), address.data(),
                            address.size());
}

/* No queue pair: the limit is reached, or the NIC has no more. */
void QueuePair::refuse()
{
    drop();
    state_ = State::Refused;
    say(LinkStep::Refuse);
}

void QueuePair::ask()
{
    if (state_ != State::Idle) {
        return;
    }
    std::vector<uint8_t> address;
    if (!endpoints_.may_add_qp(rail_) || create(address) != UCS_OK) {
        refuse();
        return;
    }
    state_ = State::Asked;
    say(LinkStep::Ask, address);
}

bool QueuePair::meant(const wire::RailAddr &message) const
{
    return message.use == static_cast<uint8_t>(use_) &&
           message.turn == turn_ &&
           message.rail == rail_.index() && message.from == remote_.index;
}

ucs_status_t QueuePair::on_message(const wire::RailAddr &message,
                                   const std::vector<uint8_t> &address)
{
    ucs_status_t status = UCS_OK;
    std::vector<uint8_t> own;
    switch (static_cast<LinkStep>(message.step)) {
    case LinkStep::Ask:
        if (state_ == State::Refused) {
            say(LinkStep::Refuse);
            return UCS_OK;
        }
        if (state_ == State::Idle) {
            if (!endpoints_.may_add_qp(rail_) || create(own) != UCS_OK) {
                refuse();
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
            say(LinkStep::Answer, own);
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
            say(LinkStep::Ready);
            probe();
        }
        return status;
    case LinkStep::Ready:
        /* Of two that ask at the same time the peer may have our answer before
         * our question, if the lane has changed between them: it answers the
         * first alone. */
        if (state_ == State::Answered ||
            (state_ == State::Asked && connected_)) {
            probe();
        }
        return UCS_OK;
    case LinkStep::Refuse:
        if (state_ >= State::Unprobed) {
            break;
        }
        drop();
        state_ = State::Refused;
        return UCS_OK;
    case LinkStep::Later:
        if (state_ != State::Asked || use_ != Use::Bulk) {
            break;
        }
        give_up();
        connection_.defer();
        return UCS_OK;
    }
    ucs_debug("fuselink: link step %d of peer %016lx out of turn",
              message.step, connection_.uuid());
    return UCS_OK;
}

} // namespace fuselink
