/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* Program: its operations, from what they are about to what they have left. */

#include "program.h"

#include "../../lib/harness/keys.h"

#include <cstring>

namespace fuselink::sim {
namespace {

using Kind = Action::Kind;

/* Where of several NICs one falls silent no kernel is waited for, but for one that does
 * not answer whoever connects for bulk data: he is given one and a half seconds. */
constexpr Instant kLossBound = 3 * kSecond;
/* Where one program puts, and the other one answers, and kernels wait for a second before they
 * send again: 200 ms for what has rested, 40 for a kernel that waits, 30 as a wire was back at
 * once before, and what is there to be sent. */
constexpr Instant kAnswerBound = 350 * kMillisecond;

/* When all were silent and speak again, the same: whatever their kernels wait for. */
constexpr Instant kBackBound = 3 * kSecond;

/* Without bytes there may be no key, or what UCX takes for none. */
uct_rkey_t key_for(const Operation &op, uct_rkey_t rkey)
{
    if (op.length != 0 || op.action.seed % 2 != 0) {
        return rkey;
    }
    return op.action.seed % 4 == 0 ? 0 : UCT_INVALID_RKEY;
}

bool is_flush(Kind kind)
{
    return kind == Kind::Flush || kind == Kind::Cancel;
}

/* What is short, or copied at once, is in memory of the host. */
bool may_be_on_gpu(Kind kind)
{
    return kind == Kind::AmZcopy || kind == Kind::PutZcopy ||
           kind == Kind::PutOver || kind == Kind::GetZcopy ||
           kind == Kind::GetBack;
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
        op.landing->known = false;
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

/* False if it is to be tried again. */
bool Program::settle(Operation &op, ucs_status_t status)
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

void Program::violate(const Operation &op, const std::string &what) const
{
    world_.journal().violate(std::string(name_of(op.action.kind)) + " " +
                             std::to_string(op.action.number) + " of process " +
                             std::to_string(process_.index()) + " to " +
                             std::to_string(op.endpoint->peer) + ", " +
                             std::to_string(op.length) + " bytes, " + what);
}

/* Who was in touch with the peer before the loss does not wait for a kernel. */
void Program::check_time(const Operation &op)
{
    Remote       &remote = remotes_.at(op.endpoint->peer);
    const Instant now    = world_.time().now();
    if (remote.reached == 0 && op.status == UCS_OK && op.length != 0 &&
        (is_get(op.action.kind) || may_be_on_gpu(op.action.kind)) &&
        !is_message(op.action.kind)) {
        remote.reached = now; /* it has answered */
    }
    if ((!scenario_.loses_nic && !scenario_.loses_all) || world_.lost_at == 0 ||
        remote.reached == 0 || remote.reached >= world_.lost_at ||
        ledger_.excused(process_.index(), op.endpoint->peer)) {
        return;
    }
    if (scenario_.loses_all) {
        check_time_of_return(op);
        return;
    }
    world_.count(Count::OutlivedLoss);
    const bool    soon  = scenario_.answers_from != 0 && now > scenario_.answers_from;
    world_.count(Count::AnsweredSoon, soon);
    const Instant since = soon ? std::max(op.begun, scenario_.answers_from) : op.begun;
    if (now - since > (soon ? kAnswerBound : kLossBound)) {
        violate(op, "takes " + std::to_string((now - since) / kMillisecond) +
                        " ms, though another NIC carries");
    }
}

/* The kernels of a host that was silent for long try again as much later. */
void Program::check_time_of_return(const Operation &op)
{
    const Instant back = world_.back_at, now = world_.time().now();
    if (back == 0 || op.begun >= back) {
        return;
    }
    world_.count(Count::OutlivedAll);
    if (now - back > kBackBound) {
        violate(op, "takes " + std::to_string((now - back) / kMillisecond) +
                        " ms more when all NICs are back");
    }
}

void Program::end(Operation &op, ucs_status_t status)
{
    if (!process_.alive) {
        return; /* it was killed in the middle of a call */
    }
    world_.journal().note("ends", process_.index(), op.action.number,
                          static_cast<uint64_t>(-status));
    if (op.state == Operation::State::Ended) {
        violate(op, "ends twice");
        return;
    }
    if (op.state == Operation::State::Dropped) {
        violate(op, "ends though its endpoint is destroyed");
        return;
    }
    op.state  = Operation::State::Ended;
    op.status = status;
    remotes_.at(op.endpoint->peer).ended = world_.time().now();
    check_time(op);
    if (status == UCS_OK) {
        if (is_put(op.action.kind) && op.action.kind != Kind::PutShort &&
            op.action.kind != Kind::PutBcopy) {
            check_put(op);
        } else if (is_get(op.action.kind)) {
            check_get(op);
        } else if (op.action.kind == Kind::Flush) {
            for (const Operation *other : op.open_before) {
                if (other->state == Operation::State::Open) {
                    violate(*other, "is open behind a flush");
                }
            }
            for (const auto &landing : op.covers) {
                if (!landing->failed && !landing->replaced &&
                    differs(landing->process->arena() + landing->at,
                            landing->length, landing->seed) !=
                        landing->length) {
                    violate(op, "ends before a put of " +
                                    std::to_string(landing->length) +
                                    " bytes is there");
                }
            }
        }
    } else {
        world_.count(Count::OpsFailed);
        if (op.landing) {
            op.landing->failed = true;
        }
        const bool ended = op.action.revocable &&
                           remotes_.at(op.endpoint->peer).program->revoked_;
        world_.count(Count::KeysEnded, ended);
        if (!ledger_.excused(process_.index(), op.endpoint->peer) &&
            !op.endpoint->cancelled && !gone() && !ended) {
            violate(op, std::string("fails: ") + ucs_status_string(status));
        }
    }
    give_back(op, status == UCS_OK);
    if (op.action.kind == Kind::Cancel && op.endpoint->ep != nullptr) {
        for (const auto &other : operations_) {
            if (other->endpoint == op.endpoint && other.get() != &op &&
                other->state == Operation::State::Open) {
                violate(*other, "is open behind a cancel");
            }
        }
        op.endpoint->failed = true; /* it is closed soon */
    }
}

void Program::check_put(Operation &op)
{
    Landing &landing = *op.landing;
    if (landing.replaced || landing.failed) {
        return;
    }
    const size_t at = differs(landing.process->arena() + landing.at,
                              landing.length, landing.seed);
    if (at != landing.length) {
        violate(op, "ends before byte " + std::to_string(at) + " is there");
    }
    landing.known = true;
}

void Program::check_get(Operation &op)
{
    if (op.reads) {
        /* What replaces it behind another fence comes too late for the get. */
        const bool kept = !op.reads->replaced ||
                          op.reads->replaced_at > op.read_at;
        if (kept && !op.reads->failed &&
            differs(op.local, op.length, op.reads->seed) != op.length) {
            violate(op, "does not bring what was put in front of a fence");
        }
        return;
    }
    const Program &peer = *remotes_.at(op.endpoint->peer).program;
    const size_t   at   = differs(op.local, op.length,
                                  library_seed(peer.process_) + op.target);
    if (at != op.length) {
        violate(op, "ends before byte " + std::to_string(at) + " is there");
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

/* The user has his memory back, and uses it for something else. */
void Program::give_back(Operation &op, bool well)
{
    if (op.memh != nullptr) {
        uct_md_mem_dereg(md_, op.memh);
        op.memh = nullptr;
    }
    if (op.landing && well && op.landing->known) {
        Landing &landing = *op.landing;
        landing.process->close(landing.process->arena() + landing.at,
                               landing.length);
    }
    if (op.local == nullptr) {
        return;
    }
    if (is_get(op.action.kind)) {
        process_.close(op.local, op.length);
    }
    fill(op.local, op.length, kGarbage);
    ledger_.keep(process_, static_cast<size_t>(op.local - process_.arena()),
                 op.length, kGarbage);
}

} // namespace fuselink::sim
