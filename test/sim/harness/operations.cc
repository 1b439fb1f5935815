/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* Program: its operations, from what they are about to what they wait for. */

#include "program.h"

#include "../../lib/harness/keys.h"

#include <cstring>

namespace fuselink::sim {
namespace {

using Kind = Action::Kind;

/* Without bytes there may be no key, or what UCX takes for none. */
uct_rkey_t key_for(const Operation &op, uct_rkey_t rkey)
{
    if (op.length != 0 || op.action.seed % 2 != 0) {
        return rkey;
    }
    return op.action.seed % 4 == 0 ? 0 : UCT_INVALID_RKEY;
}

} // namespace

uct_mem_h Program::memory_of(const Operation &op) const
{
    return op.memh != nullptr ? op.memh : op.on_gpu ? gpu_memh_ : memh_;
}

uct_rkey_t Program::key_of(const Operation &op, const Remote &remote)
{
    const bool on_gpu = remote.program->process_.is_on_gpu(op.target);
    return key_for(op, on_gpu                ? remote.gpu_key.rkey :
                       op.action.revocable ? remote.revocable.rkey :
                                             remote.key.rkey);
}

/* What it is about, once for all attempts. */
void Program::prepare(Operation &op)
{
    const Action &action = op.action;
    Endpoint     &at     = *op.endpoint;
    size_t        most   = SIZE_MAX;
    const auto   &cap    = attr_.cap;
    switch (action.kind) {
    case Kind::AmShort:  most = cap.am.max_short - 8; break;
    case Kind::AmBcopy:  most = cap.am.max_bcopy - 8; break;
    case Kind::AmZcopy:  most = cap.am.max_zcopy - 8; break;
    case Kind::PutShort: most = cap.put.max_short; break;
    case Kind::PutBcopy: most = cap.put.max_bcopy; break;
    case Kind::GetBcopy: most = cap.get.max_bcopy; break;
    default: break;
    }
    op.length = std::min(action.length, most);
    if (is_put(action.kind)) {
        if (action.kind == Kind::PutOver) {
            for (const auto &landing : at.fenced) {
                if (!landing->replaced && !landing->revocable && landing->length != 0) {
                    op.landing       = std::make_shared<Landing>(*landing);
                    op.landing->over = landing;
                    op.length        = landing->length;
                    op.target        = landing->at;
                    break;
                }
            }
            if (action.copied && op.length <= cap.put.max_bcopy) {
                op.action.kind = Kind::PutBcopy;
            }
        }
        Program &peer = *remotes_.at(at.peer).program;
        if (!op.landing) {
            op.target           = peer.take_range(op.length, action.to_gpu);
            op.landing          = std::make_shared<Landing>();
            op.landing->process = &peer.process_;
            op.landing->at      = op.target;
            op.landing->length  = op.length;
            op.landing->revocable = action.revocable;
            op.landing->failed    = action.revocable && peer.revoked_;
        }
        op.landing->seed  = action.seed;
        op.landing->known = op.landing->flushed = false;
        if (op.target == SIZE_MAX) {
            op.length = SIZE_MAX;
            return;
        }
    }
    if (action.writes) {
        Program     &peer = *remotes_.at(at.peer).program;
        const size_t to   = peer.take_range(op.length, false);
        if (to != SIZE_MAX) {
            op.written = std::make_shared<Landing>(
                Landing{&peer.process_, to, op.length, action.seed});
        }
    }
    if (action.kind == Kind::GetBack) {
        for (const auto &landing : at.fenced) {
            if (!landing->replaced && !landing->revocable) {
                op.reads  = landing;
                op.length = landing->length;
                op.target = landing->at;
            }
        }
    }
    if (is_get(action.kind) && !op.reads) {
        op.length = std::min(op.length, scenario_.library / 2);
        op.target = action.seed % (scenario_.library - op.length);
        op.target += action.revocable ? scenario_.library : 0;
        const Process &peer = remotes_.at(at.peer).program->process_;
        if (action.to_gpu && peer.has_gpu()) {
            op.target += peer.arena_size();
        }
    }
    if (is_operation(action.kind) && action.kind != Kind::Flush &&
        action.kind != Kind::Cancel) {
        const size_t range = take_range(op.length,
                                        action.from_gpu &&
                                            may_be_on_gpu(action.kind));
        if (range == SIZE_MAX) {
            op.length = SIZE_MAX;
            return;
        }
        op.local  = process_.arena() + range;
        op.buffer = process_.address(range);
        op.on_gpu = process_.is_on_gpu(range);
        if (is_get(action.kind)) {
            process_.open(op.local, op.length);
        } else {
            fill(op.local, op.length, action.seed);
        }
        if (action.own_region && op.length != 0 &&
            uct_md_mem_reg(md_, op.buffer, op.length, UCT_MD_MEM_ACCESS_ALL,
                           &op.memh) != UCS_OK) {
            op.memh = nullptr;
        }
    }
    if (op.landing && !op.landing->failed) {
        op.landing->process->open(op.landing->process->arena() + op.target,
                                  op.length);
        if (op.landing->revocable) {
            ledger_.note_revocable(op.landing);
        }
    }
}

ucs_status_t Program::attempt(Operation &op)
{
    const Kind kind = op.action.kind;
    if (is_message(kind)) {
        return send_message(op);
    }
    if (is_put(kind)) {
        return put(op);
    }
    if (is_get(kind)) {
        return get(op);
    }
    return flush(op);
}

ucs_status_t Program::send_message(Operation &op)
{
    Endpoint      &at     = *op.endpoint;
    const uint32_t head[] = {at.instance, at.messages};
    uint64_t       header;
    memcpy(&header, head, sizeof(header));
    struct Pack {
        uint64_t         header;
        const Operation &op;
    } pack{header, op};
    ucs_status_t status;
    auto        &flow = ledger_.flow(at.instance);
    /* Before the call: it may be there when that returns. */
    flow.sent.push_back({op.length, op.action.seed, at.fenced, op.written});
    ++at.messages;
    switch (op.action.kind) {
    case Kind::AmShort:
        status = uct_ep_am_short(at.ep, op.action.am_id, header, op.local,
                                 static_cast<unsigned>(op.length));
        break;
    case Kind::AmBcopy: {
        ssize_t sent = uct_ep_am_bcopy(
            at.ep, op.action.am_id,
            [](void *to, void *arg) {
                auto *p = static_cast<Pack *>(arg);
                memcpy(to, &p->header, sizeof(p->header));
                memcpy(static_cast<char *>(to) + sizeof(p->header),
                       p->op.local, p->op.length);
                return sizeof(p->header) + p->op.length;
            },
            &pack, 0);
        status = sent < 0 ? static_cast<ucs_status_t>(sent) : UCS_OK;
        break;
    }
    default: {
        uct_iov_t iov{op.buffer, op.length, memory_of(op), 0, 1};
        status = uct_ep_am_zcopy(at.ep, op.action.am_id, &header,
                                 sizeof(header), &iov, 1, 0, &op.comp);
    }
    }
    if (UCS_STATUS_IS_ERR(status)) {
        flow.sent.pop_back();
        --at.messages;
    } else {
        world_.count(Count::Messages);
        world_.count(Count::GpuMessages, op.on_gpu);
        if (op.written) {
            world_.count(Count::MessagesWrite);
            ledger_.note(op.written);
            at.written.push_back(op.written);
        }
    }
    return status;
}

ucs_status_t Program::put(Operation &op)
{
    Endpoint      &at     = *op.endpoint;
    const Remote  &remote = remotes_.at(at.peer);
    const uint64_t to     = reinterpret_cast<uintptr_t>(
        op.landing->process->address(op.target));
    if (op.landing->over) {
        op.landing->over->replaced    = true;
        op.landing->over->replaced_at = at.fences;
    }
    ucs_status_t status;
    switch (op.action.kind) {
    case Kind::PutShort:
        status = uct_ep_put_short(at.ep, op.length == 0 ? nullptr : op.local,
                                  static_cast<unsigned>(op.length), to,
                                  key_of(op, remote));
        break;
    case Kind::PutBcopy: {
        ssize_t sent = uct_ep_put_bcopy(
            at.ep,
            [](void *out, void *arg) {
                auto *p = static_cast<Operation *>(arg);
                memcpy(out, p->local, p->length);
                return p->length;
            },
            &op, to, key_of(op, remote));
        status = sent < 0 ? static_cast<ucs_status_t>(sent) : UCS_OK;
        break;
    }
    default: {
        uct_iov_t iov{op.buffer, op.length, memory_of(op), 0, 1};
        status = uct_ep_put_zcopy(at.ep, &iov, 1, to, key_of(op, remote),
                                  &op.comp);
    }
    }
    if (!UCS_STATUS_IS_ERR(status)) {
        world_.count(Count::Puts);
        world_.count(Count::CheckedPuts, op.action.revocable);
        world_.count(Count::GpuPuts,
                     op.on_gpu || op.landing->process->is_on_gpu(op.target));
        ledger_.note(op.landing);
        at.begun.push_back(op.landing);
        at.unflushed.push_back(op.landing);
    }
    return status;
}

ucs_status_t Program::get(Operation &op)
{
    Endpoint      &at     = *op.endpoint;
    const Remote  &remote = remotes_.at(at.peer);
    const uint64_t from   = reinterpret_cast<uintptr_t>(
        remote.program->process_.address(op.target));
    ucs_status_t status;
    op.read_at = at.fences;
    if (op.action.kind == Kind::GetBcopy) {
        status = uct_ep_get_bcopy(
            at.ep,
            [](void *arg, const void *data, size_t length) {
                auto *p = static_cast<Operation *>(arg);
                p->program->host_.called_back();
                if (length != p->length) {
                    p->program->violate(*p, "unpacks another length");
                } else if (length != 0) {
                    memcpy(p->local, data, length);
                }
            },
            &op, op.length, from, key_of(op, remote), &op.comp);
    } else {
        uct_iov_t iov{op.buffer, op.length, memory_of(op), 0, 1};
        status = uct_ep_get_zcopy(at.ep, &iov, 1, from, key_of(op, remote),
                                  &op.comp);
    }
    if (!UCS_STATUS_IS_ERR(status)) {
        world_.count(Count::Gets);
        world_.count(Count::GpuGets,
                     op.on_gpu ||
                         remote.program->process_.is_on_gpu(op.target));
    }
    return status;
}

ucs_status_t Program::flush(Operation &op)
{
    const bool cancel = op.action.kind == Kind::Cancel;
    world_.count(Count::Flushes);
    op.covers = op.endpoint->unflushed;
    op.open_before.clear();
    for (const auto &other : operations_) {
        if (other->endpoint == op.endpoint && !is_flush(other->action.kind) &&
            other->state == Operation::State::Open) {
            op.open_before.push_back(other.get());
        }
    }
    return uct_ep_flush(op.endpoint->ep,
                        cancel ? UCT_FLUSH_FLAG_CANCEL : 0, &op.comp);
}

/* False if it is to be tried again. Who is refused, and told that there is no need to wait, may
 * try at once, as UCP does without end: there is room then, or it may wait. */
bool Program::settle(Operation &op, ucs_status_t status, bool at_once)
{
    if (op.state != Operation::State::New) {
        return true; /* it ended inside the call, or has gone with its endpoint */
    }
    if (status == UCS_INPROGRESS) {
        op.state = Operation::State::Open;
        return true;
    }
    if (status != UCS_ERR_NO_RESOURCE) {
        end(op, status);
        return true;
    }
    if (op.action.queue || op.endpoint->waiting != 0) {
        if (op.endpoint->ep == nullptr) {
            end(op, UCS_ERR_CANCELED);
            return true;
        }
        ucs_status_t added = uct_ep_pending_add(op.endpoint->ep, &op.req, 0);
        if (added == UCS_OK) {
            op.state = Operation::State::Waiting;
            ++op.endpoint->waiting;
            return true;
        }
        if (added == UCS_ERR_BUSY && at_once) {
            violate(op, "is refused, and may not wait for room");
        } else if (added == UCS_ERR_BUSY) {
            return settle(op, attempt(op), true);
        }
    }
    return false;
}

ucs_status_t Program::on_room(uct_pending_req_t *req)
{
    auto        *op      = ucs_container_of(req, Operation, req);
    Program     &program = *op->program;
    program.host_.called_back();
    op->state            = Operation::State::New;
    ucs_status_t status  = program.attempt(*op);
    if (status == UCS_ERR_NO_RESOURCE) {
        op->state = Operation::State::Waiting;
        return UCS_ERR_NO_RESOURCE;
    }
    if (op->endpoint->waiting != 0) {
        --op->endpoint->waiting;
    }
    program.settle(*op, status);
    return UCS_OK;
}

void Program::on_end(uct_completion_t *comp)
{
    auto *op = reinterpret_cast<Operation *>(comp);
    op->program->host_.called_back();
    op->program->end(*op, comp->status);
    op->program->send_from_end(*op);
}

/* What UCP does: behind whatever waits in the endpoint's queue. */
void Program::send_from_end(Operation &op)
{
    Endpoint &at = *op.endpoint;
    if (!op.action.goes_on || op.status != UCS_OK || gone() ||
        at.ep == nullptr || at.failed || at.cancelled) {
        return;
    }
    const bool     waits  = at.waiting != 0;
    const uint32_t head[] = {at.instance, at.messages};
    uint64_t       header;
    memcpy(&header, head, sizeof(header));
    auto &flow = ledger_.flow(at.instance);
    flow.sent.push_back({0, 0, at.fenced, nullptr});
    ++at.messages;
    ucs_status_t status = uct_ep_am_short(at.ep, 1, header, nullptr, 0);
    if (status != UCS_OK) {
        flow.sent.pop_back();
        --at.messages;
        return;
    }
    world_.count(Count::FromEnds);
    if (waits) {
        violate(op, "sends from its end, in front of what waits in the queue");
    }
}

void Program::begin_flush()
{
    flushing_    = true;
    flushes_ops_ = operations_.size();
}

/* When it is done, what had begun by then has ended. */
void Program::flush_iface()
{
    ucs_status_t status = uct_iface_flush(iface_, 0, nullptr);
    if (status == UCS_INPROGRESS || status == UCS_ERR_NO_RESOURCE) {
        return;
    }
    flushing_ = false;
    if (status != UCS_OK) {
        return;
    }
    for (size_t i = 0; i < flushes_ops_; ++i) {
        const Operation &op = *operations_[i];
        if (op.state == Operation::State::Open && !is_flush(op.action.kind) &&
            !op.endpoint->failed &&
            !op.endpoint->cancelled && op.endpoint->ep != nullptr) {
            violate(op, "is under way, and its interface is flushed");
        }
    }
}

/* That is there again at once, whoever writes or reads by the key. */
void Program::revoke()
{
    if (revocable_memh_ == nullptr) {
        return;
    }
    world_.count(Count::Revoked);
    const ucs_status_t status = fltest::revoke(md_, revocable_memh_);
    revocable_memh_           = nullptr;
    revoked_                  = true;
    if (status != UCS_OK) {
        world_.journal().violate("process " + std::to_string(process_.index()) +
                                 " does not get its memory back at once");
    }
    ledger_.revoke(process_);
    fill(process_.arena() + scenario_.library, scenario_.library, kGarbage);
    ledger_.keep(process_, scenario_.library, scenario_.library, kGarbage);
}

} // namespace fuselink::sim
