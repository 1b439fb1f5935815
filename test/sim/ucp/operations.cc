/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
/* What a program does with UCP, and what it looks at when that has ended. */

#include "program.h"

#include <algorithm>
#include <cstring>

namespace fuselink::sim {
namespace {

using Kind = UcpAction::Kind;

/* What a sender writes into memory that is his again. */
constexpr uint64_t kScribble = 0x5c21bb1e;

} // namespace

UcpOperation &UcpProgram::begin(const UcpAction &action, UcpEndpoint *endpoint)
{
    operations_.push_back(std::make_unique<UcpOperation>());
    UcpOperation &op = *operations_.back();
    op.program       = this;
    op.endpoint      = endpoint;
    op.action        = action;
    op.open          = true;
    op.begun         = world_.time().now();
    ++open_;
    flushing_ += action.kind == Kind::FlushWorker;
    closing_  += action.kind == Kind::Close;
    if (endpoint != nullptr) {
        ++endpoint->open;
    }
    return op;
}

void UcpProgram::start(const UcpAction &action)
{
    UcpEndpoint *to = nullptr;
    if (action.kind == Kind::FlushWorker && closing_ != 0) {
        return; /* UCX 1.13 closes an endpoint over the flush that waits in it */
    }
    if (action.kind != Kind::TagReceive && action.kind != Kind::FlushWorker &&
        (to = endpoint(action.peer, action.slot)) == nullptr) {
        return;
    }
    UcpOperation &op = begin(action, to);
    switch (action.kind) {
    case Kind::TagSend:
    case Kind::TagSync:
    case Kind::AmSend:
        send(op);
        break;
    case Kind::TagReceive:
        receive(op);
        break;
    case Kind::Put:
    case Kind::Get:
        reach(op);
        break;
    case Kind::Add:
    case Kind::FetchAdd:
    case Kind::Swap:
        count(op);
        break;
    default:
        flush(op);
    }
}

ucp_request_param_t UcpProgram::params_of(UcpOperation &op) const
{
    ucp_request_param_t params{};
    params.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    params.cb.send      = on_sent;
    params.user_data    = &op;
    return params;
}

void UcpProgram::send(UcpOperation &op)
{
    const UcpAction &action = op.action;
    uint8_t         *from   = memory(action.at);
    fill(from, action.length, action.seed);
    world_.count(Count::Messages);
    book_.send(action.number);
    ucp_request_param_t params = params_of(op);
    if (action.waits) {
        params.op_attr_mask |= UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
    }
    const uint64_t tag = tag_of(action.tags, process_.index(), action.number);
    ucp_ep_h       ep  = op.endpoint->ep;
    switch (action.kind) {
    case Kind::TagSync:
        settle(op, ucp_tag_send_sync_nbx(ep, from, action.length, tag, &params));
        break;
    case Kind::AmSend:
        op.header[0]         = process_.index();
        op.header[1]         = action.number;
        params.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
        params.flags         = action.flags;
        settle(op, ucp_am_send_nbx(ep, kMessageId, op.header, sizeof(op.header), from,
                                   action.length, &params));
        break;
    default:
        settle(op, ucp_tag_send_nbx(ep, from, action.length, tag, &params));
    }
}

/* What is behind the message's end in its buffer has to stay. */
void UcpProgram::receive(UcpOperation &op)
{
    const UcpAction &action = op.action;
    fill(memory(action.at), action.length, action.seed);
    process_.open(memory(action.at), action.length);
    world_.count(Count::Wildcards, action.tags != TagClass::Exact);
    op.place                   = book_.post(process_.index(), action.tags);
    ucp_request_param_t params = params_of(op);
    /* UCX 1.13 does not say what has come by a receive that ends at once. */
    params.op_attr_mask       |= UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
    params.cb.recv             = on_received;
    settle(op, ucp_tag_recv_nbx(worker_, memory(action.at), action.length,
                                tag_of(action.tags, action.peer, action.number),
                                mask_of(action.tags), &params));
}

uint64_t UcpProgram::remote(const UcpOperation &op) const
{
    return reinterpret_cast<uintptr_t>(
               all_[op.action.peer]->process_.arena()) + op.action.to;
}

/* Puts and gets. */
void UcpProgram::reach(UcpOperation &op)
{
    const UcpAction &action = op.action;
    UcpEndpoint     &to     = *op.endpoint;
    if (to.rkey == nullptr &&
        ucp_ep_rkey_unpack(to.ep, all_[action.peer]->key_.data(), &to.rkey) != UCS_OK) {
        world_.journal().violate("a key cannot be unpacked");
    }
    ucp_request_param_t params = params_of(op);
    uint8_t            *here   = memory(action.at);
    if (action.kind == Kind::Get) {
        world_.count(Count::Gets);
        process_.open(here, action.length);
        settle(op, ucp_get_nbx(to.ep, here, action.length, remote(op), to.rkey,
                               &params));
        return;
    }
    world_.count(Count::Puts);
    fill(here, action.length, action.seed);
    Process &target = all_[action.peer]->process_;
    op.landing      = std::make_shared<Landing>();
    *op.landing     = {&target, action.to, action.length, action.seed};
    target.open(target.arena() + action.to, action.length);
    to.unflushed.push_back(op.landing);
    settle(op, ucp_put_nbx(to.ep, here, action.length, remote(op), to.rkey, &params));
}

/* Atomic operations, on 8 bytes. */
void UcpProgram::count(UcpOperation &op)
{
    UcpAction   &action = op.action;
    UcpEndpoint &to     = *op.endpoint;
    if (to.rkey == nullptr &&
        ucp_ep_rkey_unpack(to.ep, all_[action.peer]->key_.data(), &to.rkey) != UCS_OK) {
        world_.journal().violate("a key cannot be unpacked");
    }
    world_.count(Count::Atomics);
    const bool swaps = action.kind == Kind::Swap;
    const auto which = static_cast<unsigned>(action.to);
    op.operand = op.amount = swaps ? action.seed | 1 : action.length;
    if (swaps) {
        book_.write(action.peer, which, op.operand);
    } else {
        book_.add(action.peer, which, op.operand);
    }
    ucp_request_param_t params = params_of(op);
    params.op_attr_mask       |= UCP_OP_ATTR_FIELD_DATATYPE;
    params.datatype            = ucp_dt_make_contig(sizeof(uint64_t));
    if (action.kind != Kind::Add) {
        process_.open(memory(action.at), sizeof(uint64_t));
        params.op_attr_mask |= UCP_OP_ATTR_FIELD_REPLY_BUFFER;
        params.reply_buffer  = memory(action.at);
    }
    const size_t at = (swaps ? kCellsAt : kCountersAt) + which * sizeof(uint64_t);
    settle(op, ucp_atomic_op_nbx(
                   to.ep, swaps ? UCP_ATOMIC_OP_SWAP : UCP_ATOMIC_OP_ADD, &op.operand,
                   1, reinterpret_cast<uintptr_t>(
                          all_[action.peer]->process_.arena()) + at,
                   to.rkey, &params));
}

void UcpProgram::flush(UcpOperation &op)
{
    world_.count(Count::Flushes);
    ucp_request_param_t params = params_of(op);
    if (op.action.kind == Kind::FlushEp) {
        op.covers = std::move(op.endpoint->unflushed);
        op.endpoint->unflushed.clear();
        settle(op, ucp_ep_flush_nbx(op.endpoint->ep, &params));
        return;
    }
    for (auto &one : endpoints_) {
        op.covers.insert(op.covers.end(), one->unflushed.begin(),
                         one->unflushed.end());
        one->unflushed.clear();
    }
    settle(op, ucp_worker_flush_nbx(worker_, &params));
}

/* --- their ends --- */

void UcpProgram::settle(UcpOperation &op, ucs_status_ptr_t result)
{
    world_.spend(100, 1000);
    if (!UCS_PTR_IS_PTR(result)) {
        end(op, UCS_PTR_STATUS(result));
    } else if (op.open) {
        op.request = result;
    }
}

void UcpProgram::on_sent(void *request, ucs_status_t status, void *user)
{
    auto &op = *static_cast<UcpOperation *>(user);
    op.program->host_.called_back();
    op.program->end(op, status);
    ucp_request_free(request);
}

void UcpProgram::on_received(void *request, ucs_status_t status,
                             const ucp_tag_recv_info_t *info, void *user)
{
    auto &op = *static_cast<UcpOperation *>(user);
    op.info  = *info;
    op.program->host_.called_back();
    op.program->end(op, status);
    ucp_request_free(request);
}

void UcpProgram::on_fetched(void *request, ucs_status_t status, size_t length,
                            void *user)
{
    auto &op = *static_cast<UcpOperation *>(user);
    if (status == UCS_OK && length != op.action.length) {
        op.program->world_.journal().violate("an active message has another length");
    }
    op.program->end(op, status);
    ucp_request_free(request);
}

void UcpProgram::end(UcpOperation &op, ucs_status_t status)
{
    const UcpAction &action = op.action;
    world_.journal().note("ends", process_.index(), action.number,
                          static_cast<uint64_t>(action.kind),
                          static_cast<uint64_t>(-status));
    const std::string what = std::string(name_of(action.kind)) + " " +
                             std::to_string(action.number) + " of process " +
                             std::to_string(process_.index());
    if (!op.open) {
        world_.journal().violate(what + " ends twice");
        return;
    }
    op.open    = false;
    op.request = nullptr;
    --open_;
    flushing_ -= action.kind == Kind::FlushWorker;
    closing_  -= action.kind == Kind::Close;
    if (op.endpoint != nullptr) {
        --op.endpoint->open;
    }
    if (status == UCS_OK) {
        end_well(op);
        return;
    }
    world_.count(Count::OpsFailed);
    if (!ledger_.excused(process_.index(), action.peer)) {
        world_.journal().violate(what + " ends with " + ucs_status_string(status));
    }
}

void UcpProgram::end_well(UcpOperation &op)
{
    const UcpAction &action = op.action;
    uint8_t         *here   = memory(action.at);
    uint64_t         before = 0;
    switch (action.kind) {
    case Kind::TagSend:
    case Kind::TagSync:
    case Kind::AmSend:
    case Kind::Put:
        give_back(op);
        break;
    case Kind::TagReceive: {
        const size_t length = op.info.length;
        process_.close(here, action.length);
        if (length > action.length) {
            world_.journal().violate("a receive says that more came than it has room");
            break;
        }
        book_.receive(process_.index(), action, op.place, op.info.sender_tag, length,
                      here);
        const auto it = plan_.messages.find(
            static_cast<unsigned>(op.info.sender_tag));
        if (it != plan_.messages.end()) {
            ledger_.keep(process_, action.at, length, it->second.seed);
        }
        ledger_.keep(process_, action.at + length, action.length - length,
                     action.seed + length);
        break;
    }
    case Kind::AmReceive:
        process_.close(here, action.length);
        book_.check(action.number, here);
        ledger_.keep(process_, action.at, action.length, action.seed);
        break;
    case Kind::Get: {
        process_.close(here, action.length);
        const uint64_t seed = library_seed(all_[action.peer]->process_) + action.to;
        if (differs(here, action.length, seed) != action.length) {
            world_.journal().violate("a get of " + std::to_string(action.length) +
                                     " bytes brings others");
        }
        ledger_.keep(process_, action.at, action.length, seed);
        break;
    }
    case Kind::FetchAdd:
    case Kind::Swap:
        process_.close(here, sizeof(uint64_t));
        memcpy(&before, here, sizeof(before));
        if (action.kind == Kind::Swap) {
            book_.swap(action.peer, static_cast<unsigned>(action.to), before);
        } else {
            book_.fetch(action.peer, static_cast<unsigned>(action.to), before,
                        op.amount);
        }
        break;
    case Kind::FlushEp:
    case Kind::FlushWorker:
    case Kind::Close:
        for (auto &landing : op.covers) {
            Process &target = *landing->process;
            target.close(target.arena() + landing->at, landing->length);
            landing->known = true;
            if (differs(target.arena() + landing->at, landing->length,
                        landing->seed) != landing->length) {
                world_.journal().violate(
                    std::string(name_of(action.kind)) + " ends before a put of " +
                    std::to_string(landing->length) + " bytes is there");
            }
            ledger_.note(landing);
        }
        break;
    default:
        break;
    }
}

/* The memory is its user's again, who uses it for something else. */
void UcpProgram::give_back(const UcpOperation &op)
{
    const UcpAction &action = op.action;
    fill(memory(action.at), action.length, action.seed ^ kScribble);
    ledger_.keep(process_, action.at, action.length, action.seed ^ kScribble);
}

/* --- active messages --- */

ucs_status_t UcpProgram::on_message(void *arg, const void *header,
                                    size_t header_length, void *data, size_t length,
                                    const ucp_am_recv_param_t *param)
{
    auto    &program = *static_cast<UcpProgram *>(arg);
    uint32_t head[2];
    program.host_.called_back();
    if (header_length != sizeof(head)) {
        program.world_.journal().violate("an active message has another header");
        return UCS_OK;
    }
    memcpy(head, header, sizeof(head));
    program.world_.journal().note("active message", program.process_.index(), head[0],
                                  head[1], length);
    return program.take(head[1], data, length,
                        (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0,
                        (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_DATA) != 0);
}

ucs_status_t UcpProgram::take(uint32_t number, void *data, size_t length,
                              bool by_rendezvous, bool may_keep)
{
    const UcpMessage *message = book_.arrive(process_.index(), number, length);
    if (message == nullptr) {
        return UCS_OK;
    }
    if (!by_rendezvous) {
        book_.check(number, static_cast<uint8_t *>(data));
        if (may_keep && length != 0 && process_.chance().one_in(3)) {
            world_.count(Count::Kept);
            kept_.push_back({data, number});
            return UCS_INPROGRESS;
        }
        return UCS_OK;
    }
    UcpAction action;
    action.number    = number;
    action.kind      = Kind::AmReceive;
    action.peer      = message->from;
    action.length    = length;
    action.at        = message->at;
    action.seed      = message->seed;
    UcpOperation &op = begin(action, nullptr);
    process_.open(memory(action.at), length);
    ucp_request_param_t params = params_of(op);
    params.cb.recv_am          = on_fetched;
    settle(op, ucp_am_recv_data_nbx(worker_, data, memory(action.at), length, &params));
    return UCS_INPROGRESS;
}

void UcpProgram::release_kept(size_t index)
{
    const Kept       &kept    = kept_[index];
    const UcpMessage &message = plan_.messages.at(kept.number);
    if (differs(static_cast<uint8_t *>(kept.data), message.length, message.seed) !=
        message.length) {
        world_.journal().violate("a message that process " +
                                 std::to_string(process_.index()) +
                                 " keeps is written");
    }
    ucp_am_data_release(worker_, kept.data);
    kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(index));
}

} // namespace fuselink::sim
