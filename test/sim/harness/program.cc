/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "program.h"

#include "edge/rails_iface.h"
#include "rest_check.h"

#include <cstring>
#include <poll.h>

namespace fuselink::sim {
namespace {

using Kind = Action::Kind;

/* After so long a program that sleeps is looked at: was there something? */
constexpr Instant kLongSleep = 2 * kSecond;
constexpr Instant kSleptOver = 100 * kMillisecond;

/* No operation takes longer behind the one that ended before, with the same peer: what
 * is slowest is a peer that is silent, which fuselink gives up after 30 s, and half a
 * minute after a cable has come back. */
constexpr Instant kBound = 50 * kSecond;
/* Nor does any behind all that was posted before. */
constexpr Instant kBoundOfAny = 300 * kSecond;

/* Whoever is gone is tried again so often. */
constexpr unsigned kMostLost = 2;

} // namespace

/* --- going on --- */

bool Program::awake()
{
    if (sleeps_since == 0) {
        return true;
    }
    int           fd  = -1;
    uct_iface_event_fd_get(iface_, &fd);
    struct pollfd one{fd, POLLIN, 0};
    if (poll(&one, 1, 0) > 0) {
        sleeps_since = 0;
        return true;
    }
    const Instant now = world_.time().now();
    if (now - sleeps_since < kLongSleep) {
        return false;
    }
    sleeps_since = 0;
    unsigned found = 0;
    const Instant last = process_.last_event;
    for (unsigned i = 0; i < 64; ++i) {
        found += worker_.progress();
    }
    /* What has come only while one looks says nothing. */
    if (found != 0 && now - last > kSleptOver && process_.last_event == last) {
        world_.journal().violate("process " + std::to_string(process_.index()) +
                                 " sleeps over what has come");
    }
    return true;
}

bool Program::step()
{
    if (gone() || process_.stopped) {
        return false;
    }
    if (host_.step_works()) {
        world_.count(Count::AgentRounds);
    }
    if (rails() != nullptr && rails()->engine().held().any()) {
        world_.count(Count::CallsHeld);
    }
    check_rest(process_, rails());
    const Instant now = world_.time().now();
    if (now < computes_until_ || !awake()) {
        return false;
    }
    bool did = false;
    if (now >= next_check_) {
        ask_whether_alive();
    }
    for (uint64_t n = process_.chance().between(1, 12); n != 0; --n) {
        did |= worker_.progress() != 0;
    }
    for (size_t i = 0; i < endpoints_.size(); ++i) {
        Endpoint &endpoint = *endpoints_[i];
        if (endpoint.ep != nullptr && endpoint.failed &&
            process_.chance().one_in(16)) {
            did |= let_go(endpoint);
        }
    }
    if (gone()) { /* just now */
        return true;
    }
    if (!kept_.empty() && process_.chance().one_in(8)) {
        release_kept(process_.chance().below(kept_.size()));
    }
    if (blocked_ != nullptr) {
        Operation &op = *blocked_;
        blocked_      = nullptr;
        if (op.endpoint->ep == nullptr) {
            end(op, UCS_ERR_CANCELED);
        } else if (!settle(op, attempt(op))) {
            blocked_ = &op;
        }
        return did;
    }
    if (flushing_) {
        flush_iface();
        return did;
    }
    if (waits()) {
        return did;
    }
    const auto &script = scenario_.scripts[process_.index()];
    if (next_action_ < script.size() &&
        process_.chance().one_in(2)) {
        did |= perform(script[next_action_++]);
    }
    return did;
}

bool Program::waits()
{
    const Instant now = world_.time().now();
    if (waits_for_all_ && !has_open()) {
        waits_for_all_ = false;
        waits_until_   = now + waits_for_;
    }
    return waits_for_all_ || now < waits_until_;
}

/* Of an endpoint that has failed. */
bool Program::let_go(Endpoint &endpoint)
{
    if (!scenario_.keeps_failed) {
        close(endpoint);
        return true;
    }
    const bool waited = endpoint.waiting != 0;
    purge(endpoint);
    return waited;
}

/* As UCP does for those who handle errors: a peer that has gone without a word is
 * found out by it. */
void Program::ask_whether_alive()
{
    next_check_ = world_.time().now() + kSecond;
    for (size_t i = 0; i < endpoints_.size(); ++i) {
        Endpoint &endpoint = *endpoints_[i];
        if (endpoint.ep != nullptr && !endpoint.failed) {
            uct_ep_check(endpoint.ep, 0, nullptr);
        }
    }
}

bool Program::is_done() const
{
    if (gone()) {
        return true;
    }
    if (next_action_ < scenario_.scripts[process_.index()].size() ||
        blocked_ != nullptr || flushing_ ||
        world_.time().now() < computes_until_) {
        return false;
    }
    return !has_open();
}

bool Program::has_open() const
{
    return std::any_of(operations_.begin(), operations_.end(),
                       [](const auto &op) { return op->is_under_way(); });
}

bool Program::is_overdue() const
{
    const Instant now = world_.time().now();
    for (const auto &op : operations_) {
        if (!op->is_under_way() && op.get() != blocked_) {
            continue;
        }
        const Instant moved = std::max(op->begun, remotes_.at(op->endpoint->peer).ended);
        if (now - op->begun > kBoundOfAny || now - moved > kBound) {
            return true;
        }
    }
    return false;
}

std::string Program::state() const
{
    std::string text = "process " + std::to_string(process_.index()) + ":";
    if (next_action_ < scenario_.scripts[process_.index()].size()) {
        text += " at action " + std::to_string(next_action_);
    }
    if (flushing_) {
        text += " flushes its interface";
    }
    if (blocked_ != nullptr) {
        text += std::string(" has no room for ") +
                name_of(blocked_->action.kind);
    }
    for (const auto &op : operations_) {
        if (op->is_under_way()) {
            text += std::string(" [") + name_of(op->action.kind) + " " +
                    std::to_string(op->action.number) + " of " +
                    std::to_string(op->length) + " bytes to " +
                    std::to_string(op->endpoint->peer) +
                    (op->state == Operation::State::Waiting ? " waits" : "") +
                    (op->endpoint->failed ? ", failed" : "") + "]";
        }
    }
    return text;
}

Endpoint *Program::endpoint(unsigned peer, unsigned slot)
{
    for (auto &one : endpoints_) {
        if (one->ep != nullptr && one->peer == peer && one->slot == slot &&
            !one->failed && !one->cancelled) {
            return one.get();
        }
    }
    const Remote   &remote = remotes_.at(peer);
    uct_ep_params_t params{};
    params.field_mask = UCT_EP_PARAM_FIELD_IFACE | UCT_EP_PARAM_FIELD_DEV_ADDR |
                        UCT_EP_PARAM_FIELD_IFACE_ADDR;
    params.iface      = iface_;
    params.dev_addr   = reinterpret_cast<const uct_device_addr_t *>(
        remote.device.data());
    params.iface_addr = reinterpret_cast<const uct_iface_addr_t *>(
        remote.iface.data());
    auto endpoint      = std::make_unique<Endpoint>();
    endpoint->program  = this;
    endpoint->peer     = peer;
    endpoint->slot     = slot;
    ucs_status_t status = uct_ep_create(&params, &endpoint->ep);
    world_.journal().note("ep create", process_.index(), peer,
                          static_cast<uint64_t>(-status));
    if (status != UCS_OK) {
        if (!ledger_.excused(process_.index(), peer)) {
            world_.journal().violate("no endpoint from " +
                                     std::to_string(process_.index()) + " to " +
                                     std::to_string(peer) + ": " +
                                     ucs_status_string(status));
        }
        return nullptr;
    }
    endpoint->instance = ledger_.begin_flow(process_.index(), peer);
    endpoints_.push_back(std::move(endpoint));
    return endpoints_.back().get();
}

bool Program::perform(const Action &action)
{
    world_.journal().note(name_of(action.kind), process_.index(),
                          action.number, action.peer, action.length);
    switch (action.kind) {
    case Kind::Compute:
        computes_until_ = world_.time().now() + action.time;
        return true;
    case Kind::Wait:
        waits_for_all_ = true;
        waits_for_     = action.time;
        return true;
    case Kind::Sleep:
        sleep();
        return true;
    case Kind::FlushIface:
        begin_flush();
        world_.count(Count::Flushes);
        return true;
    case Kind::FenceIface:
        uct_iface_fence(iface_, 0);
        world_.count(Count::Fences);
        for (auto &one : endpoints_) {
            if (one->ep != nullptr) {
                fence(*one, true);
            }
        }
        return true;
    case Kind::Revoke:
        revoke();
        return true;
    case Kind::Leave:
        world_.lanes_may_fail = true; /* nobody has waited for anything */
        leave();
        return true;
    default:
        start(action);
        return true;
    }
}

void Program::start(const Action &action)
{
    const Remote &to = remotes_.at(action.peer);
    if (to.program->gone() && to.lost >= kMostLost) {
        return;
    }
    Endpoint *at = endpoint(action.peer, action.slot);
    if (at == nullptr) {
        return;
    }
    if (action.kind == Kind::Fence) {
        world_.count(Count::Fences);
        ucs_status_t status = uct_ep_fence(at->ep, 0);
        if (status == UCS_OK) {
            fence(*at, false);
        }
        return;
    }
    if (action.kind == Kind::CloseEp) {
        world_.count(Count::EpsClosed);
        close(*at);
        return;
    }
    auto op      = std::make_unique<Operation>();
    op->program  = this;
    op->endpoint = at;
    op->action   = action;
    op->req.func = on_room;
    arm(op->comp, on_end);
    op->begun    = world_.time().now();
    prepare(*op);
    if (op->length == SIZE_MAX) {
        return; /* no memory is left for it */
    }
    operations_.push_back(std::move(op));
    Operation &kept = *operations_.back();
    if (kept.action.kind == Kind::Cancel) {
        world_.count(Count::Cancels);
        at->cancelled = true;
        excuse_cut_off(*at);
        purge(*at);
    }
    if (!settle(kept, attempt(kept))) {
        blocked_ = &kept;
    }
}

/* What is cancelled has so much time: less than any NIC of a node may be silent. */
void Program::excuse_cut_off(const Endpoint &endpoint)
{
    const Process &peer = *world_.processes()[endpoint.peer];
    if (world_.is_cut_off(process_.node()) || world_.is_cut_off(peer.node())) {
        ledger_.excuse(process_.index(), peer.index());
    }
}

/* That of an endpoint is for puts and gets alone. */
void Program::fence(Endpoint &endpoint, bool of_interface)
{
    auto take = [&endpoint](std::vector<std::shared_ptr<Landing>> &from) {
        endpoint.fenced.insert(endpoint.fenced.end(), from.begin(), from.end());
        from.clear();
    };
    take(endpoint.begun);
    if (of_interface) {
        take(endpoint.written);
    }
    ++endpoint.fences;
}

void Program::sleep()
{
    bool open = false;
    for (const auto &op : operations_) {
        open |= op->state == Operation::State::Open;
    }
    if (!open) {
        return; /* nothing would wake it */
    }
    /* As UCP's users do: arm, and look once more if there is something. */
    for (unsigned tries = 0; tries < 16 && !gone(); ++tries) {
        if (uct_iface_event_arm(iface_, UCT_EVENT_SEND_COMP | UCT_EVENT_RECV) ==
            UCS_OK) {
            world_.count(Count::Slept);
            sleeps_since = std::max<Instant>(world_.time().now(), 1);
            return;
        }
        if (worker_.progress() != 0) {
            return; /* it is wanted */
        }
    }
}

/* What waits for room on an endpoint is taken back. */
void Program::purge(Endpoint &endpoint)
{
    uct_ep_pending_purge(
        endpoint.ep,
        [](uct_pending_req_t *req, void *) {
            auto *op = ucs_container_of(req, Operation, req);
            op->endpoint->cancelled = true;
            op->program->end(*op, UCS_ERR_CANCELED);
        },
        nullptr);
    endpoint.waiting = 0;
}

void Program::close(Endpoint &endpoint)
{
    uct_ep_h ep = endpoint.ep;
    if (ep == nullptr) {
        return;
    }
    purge(endpoint);
    endpoint.ep = nullptr;
    for (const auto &op : operations_) {
        if (op->endpoint == &endpoint && (op->state == Operation::State::Open ||
                                          op->state == Operation::State::New)) {
            op->state = Operation::State::Dropped;
            if (is_put(op->action.kind) || is_get(op->action.kind)) {
                world_.count(Count::BytesDropped, op->length);
            }
        }
    }
    if (blocked_ != nullptr && blocked_->endpoint == &endpoint) {
        blocked_ = nullptr;
    }
    uct_ep_destroy(ep);
}

void Program::close_endpoints()
{
    for (size_t i = 0; i < endpoints_.size(); ++i) {
        close(*endpoints_[i]);
    }
}

void Program::leave()
{
    if (gone()) {
        return;
    }
    world_.count(Count::Leaves);
    world_.journal().note("leaves", process_.index());
    ledger_.excuse_all(process_.index());
    close_endpoints();
    left_ = true;
    release_all();
    uct_iface_close(iface_);
    iface_ = nullptr;
}

void Program::kill()
{
    world_.count(Count::Deaths);
    world_.journal().note("killed", process_.index());
    ledger_.excuse_all(process_.index());
    world_.kill(process_);
    for (const auto &op : operations_) {
        if (op->state != Operation::State::Ended) {
            op->state = Operation::State::Ended;
        }
    }
}

/* --- what comes --- */

/* The headroom is the program's from now on, as the message is. */
void Program::keep(void *data, size_t length)
{
    world_.count(Count::Kept);
    auto *at = static_cast<uint8_t *>(data);
    fill(at - headroom_, headroom_, length);
    kept_.push_back({at, {at, at + length}});
}

void Program::release_kept(size_t index)
{
    const Kept  &kept   = kept_[index];
    const size_t length = kept.bytes.size();
    if (differs(kept.data - headroom_, headroom_, length) != headroom_ ||
        memcmp(kept.data, kept.bytes.data(), length) != 0) {
        world_.journal().violate("a message that process " +
                                 std::to_string(process_.index()) +
                                 " keeps is written");
    }
    uct_iface_release_desc(kept.data - headroom_);
    kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(index));
}

void Program::release_all()
{
    while (!kept_.empty()) {
        release_kept(kept_.size() - 1);
    }
}

ucs_status_t Program::on_message(void *arg, void *data, size_t length,
                                 unsigned flags)
{
    auto &program = *static_cast<Program *>(arg);
    program.host_.called_back();
    if (!program.process_.alive) {
        return UCS_OK;
    }
    program.ledger_.deliver(program.process_.index(),
                            static_cast<uint8_t *>(data), length);
    if (!(flags & UCT_CB_PARAM_FLAG_DESC) || !program.scenario_.keeps ||
        !program.process_.chance().one_in(4)) {
        return UCS_OK;
    }
    program.keep(data, length);
    return UCS_INPROGRESS;
}

ucs_status_t Program::on_failure(void *arg, uct_ep_h ep, ucs_status_t status)
{
    auto &program = *static_cast<Program *>(arg);
    program.host_.called_back();
    if (!program.process_.alive) {
        return UCS_OK;
    }
    for (auto &one : program.endpoints_) {
        if (one->ep != ep) {
            continue;
        }
        program.world_.journal().note("ep fails", program.process_.index(),
                                      one->peer,
                                      static_cast<uint64_t>(-status));
        program.world_.count(Count::PeersFailed);
        if (one->failed && !one->cancelled) {
            program.world_.journal().violate("an endpoint fails twice");
        }
        one->failed = true;
        Remote &remote = program.remotes_.at(one->peer);
        remote.lost   += remote.program->gone();
        program.ledger_.flow(one->instance).may_lose = true;
        for (auto &landing : one->unflushed) {
            landing->failed = landing->failed || !landing->known;
        }
        if (!program.ledger_.excused(program.process_.index(), one->peer)) {
            program.world_.journal().violate(
                "the endpoint of " + std::to_string(program.process_.index()) +
                " to " + std::to_string(one->peer) + " fails: " +
                ucs_status_string(status));
        }
        return UCS_OK;
    }
    return UCS_OK;
}

} // namespace fuselink::sim
