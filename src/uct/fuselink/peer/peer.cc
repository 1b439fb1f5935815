/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "peer.h"

#include "../engine/engine.h"

#include <algorithm>

namespace fuselink {
namespace {

constexpr uint8_t rail_am(wire::RailAm am)
{
    return static_cast<uint8_t>(am);
}

struct PackControl {
    const void *head;
    size_t      head_length;
    const void *body;
    size_t      body_length;
};

size_t pack_control(void *dest, void *arg)
{
    auto *p = static_cast<PackControl *>(arg);
    memcpy(dest, p->head, p->head_length);
    if (p->body_length != 0) {
        memcpy(static_cast<char *>(dest) + p->head_length, p->body,
               p->body_length);
    }
    return p->head_length + p->body_length;
}

/* Errors of a call, which say nothing of the connection. */
bool is_callers_error(ucs_status_t status)
{
    return status == UCS_ERR_INVALID_PARAM || status == UCS_ERR_NO_MEMORY ||
           status == UCS_ERR_UNSUPPORTED || status == UCS_ERR_EXCEEDS_LIMIT;
}

} // namespace

Peer::Peer(Engine &engine, uint64_t uuid)
    : engine_(engine), uuid_(uuid), hook_{}, bulk_(*this)
{
    hook_.req.func = on_hook;
    hook_.peer     = this;
}

Peer::~Peer()
{
    if (hello_ != nullptr) {
        uct_ep_pending_purge(hello_, [](uct_pending_req_t *, void *) {},
                             nullptr);
        uct_ep_destroy(hello_);
    }
    lane_.reset();
    for (FlushOp *op : flushes_) {
        delete op;
    }
}

ucs_status_t Peer::connect(const wire::RailTable &address)
{
    address_ = address;
    if (engine_.poller().busy()) {
        obstacles_ |= kConnecting;
        engine_.defer(*this);
        return UCS_OK;
    }
    return connect_now();
}

void Peer::run_deferred()
{
    if (obstacles_ & kConnecting) {
        ucs_status_t status = connect_now();
        if (status == UCS_OK) {
            if (table_known_) {
                start_lane();
            }
        } else {
            fail(status);
        }
    }
    end_strict();
    if (!(obstacles_ & kFailed)) {
        if (lane_fence_due_) {
            flush_lane_for_fence();
            bulk_.pump(); /* may have waited for it */
        }
        if (!(obstacles_ & kBlocked)) {
            drain_queue();
        }
        dispatch_users();
    }
    for (uct_ep_h ep : unreached_) {
        if (!bulk_.drop_path(ep)) {
            fail(UCS_ERR_UNREACHABLE);
        }
    }
    unreached_.clear();
    if (obstacles_ & kFailed) {
        finish_failure();
    }
}

void Peer::on_lane_error(uct_ep_h ep, ucs_status_t status)
{
    if (!(obstacles_ & kFailed) && bulk_.never_used(ep)) {
        unreached_.push_back(ep);
        engine_.defer(*this);
        return;
    }
    fail(status);
}

ucs_status_t Peer::connect_now()
{
    obstacles_ &= ~kConnecting;
    /* Both sides compute the same starting point, so that the two directions
     * share a connection: a stream then carries the acknowledgements of one
     * direction on the data of the other. Different peers start at different
     * rails. A NIC beside this process comes first, connection shared or
     * not. */
    uint64_t mix = engine_.uuid() ^ uuid_;
    mix ^= mix >> 32;
    mix ^= mix >> 16;

    size_t count = address_.rails.size();
    bool   tried = false;
    for (LaneChoice choice : {LaneChoice::Near, LaneChoice::Routed,
                              LaneChoice::Any}) {
        if (tried && choice == LaneChoice::Any) {
            break; /* the peer refuses; another route leads to it as well */
        }
        for (size_t k = 0; k < count; ++k) {
            const auto &remote = address_.rails[(mix + k) % count];
            if (connect_over(remote, choice, tried)) {
                say_hello(!table_known_);
                return UCS_OK;
            }
        }
    }
    ucs_error("fuselink: no rail of this process reaches peer %016lx; "
              "UCX_FUSELINK_DEVICES must name a NIC port that both have",
              uuid_);
    return UCS_ERR_UNREACHABLE;
}

bool Peer::connect_over(const wire::RailRecord &remote, LaneChoice choice,
                        bool &tried)
{
    Rail::Route route = Rail::route_to(remote, engine_.uuid(), uuid_);
    if (route.astray) {
        return false;
    }
    for (const auto &rail : engine_.rails()) {
        bool usable = choice == LaneChoice::Any ?
            rail->hello().is_reachable(remote.device_address,
                                       remote.iface_address) :
            rail->reaches(remote, route);
        if (!usable || (choice == LaneChoice::Near && !rail->near())) {
            continue;
        }
        tried = true;
        ucs_status_t status = rail->hello().create_ep(
            remote.device_address, remote.iface_address, &hello_);
        if (status == UCS_OK) {
            control_     = hello_;
            rail_        = rail.get();
            lane_remote_ = remote.index;
            if (rail->by_ep()) {
                obstacles_ |= kWiring; /* until the table is known */
            }
            return true;
        }
        hello_ = nullptr;
        ucs_debug("fuselink: no connection over %s: %s",
                  rail->name().c_str(), ucs_status_string(status));
        break;
    }
    return false;
}

void Peer::attach(PeerUser &user)
{
    ucs_queue_head_init(&user.pending);
    users_.push_back(&user);
}

void Peer::detach(PeerUser &user)
{
    users_.erase(std::find(users_.begin(), users_.end(), &user));
    note_queued();
}

bool Peer::owns(uct_ep_h ep) const
{
    return ep == control_ || ep == hello_ || bulk_.owns(ep);
}

/* --- sending on the control lane --- */

ucs_status_t Peer::obstacle_status()
{
    if (obstacles_ & kFailed) {
        return failed_;
    }
    if ((obstacles_ & kFenced) && epochs_.passed(fence_boundary_)) {
        obstacles_ &= ~kFenced;
    }
    /* The requests that are being dispatched are those that others wait for. */
    unsigned counted = dispatching_ ? obstacles_ & ~kQueued : obstacles_;
    return counted == 0 ? UCS_OK : UCS_ERR_NO_RESOURCE;
}

/* What a call on the control lane returned, with its consequences. */
ucs_status_t Peer::rail_status(ucs_status_t status)
{
    if (status == UCS_ERR_NO_RESOURCE) {
        block();
    } else if (UCS_STATUS_IS_ERR(status) && !is_callers_error(status)) {
        fail(status);
    }
    return status;
}

void Peer::block()
{
    obstacles_ |= kBlocked;
    arm_hook();
}

/* Has on_room() called when the lane takes messages again. */
void Peer::arm_hook()
{
    if (hook_.queued || (obstacles_ & (kFailed | kConnecting))) {
        return; /* it is on the queue of the lane, or of the one before */
    }
    hook_.queued = true;
    if (hook_.running) {
        return; /* stays where it is: a rail's queue must not get it twice */
    }
    if (uct_ep_pending_add(control_, &hook_.req, 0) != UCS_OK) {
        /* There is room after all; whoever was refused tries again. */
        hook_.queued = false;
        obstacles_  &= ~kBlocked;
        if (obstacles_ == kQueued) {
            engine_.defer(*this);
        }
    }
}

ucs_status_t Peer::on_hook(uct_pending_req_t *req)
{
    ControlHook *hook = reinterpret_cast<ControlHook *>(req);
    hook->queued      = false;
    hook->running     = true;
    hook->peer->on_room();
    hook->running = false;
    return hook->queued ? UCS_ERR_NO_RESOURCE : UCS_OK;
}

void Peer::on_room()
{
    obstacles_ &= ~kBlocked;
    drain_queue();
    dispatch_users();
}

bool Peer::try_control(const void *head, size_t head_length, const void *body,
                       size_t body_length)
{
    PackControl pack{head, head_length, body, body_length};
    ssize_t sent = uct_ep_am_bcopy(control_, rail_am(wire::RailAm::Control),
                                   pack_control, &pack, 0);
    if (sent >= 0) {
        return true;
    }
    if (sent != UCS_ERR_NO_RESOURCE) {
        fail(static_cast<ucs_status_t>(sent));
        return true; /* nothing will ever be sent: do not keep it */
    }
    return false;
}

void Peer::send_control(const void *head, size_t head_length,
                        const void *body, size_t body_length)
{
    if ((obstacles_ & kFailed) || !connected()) {
        return;
    }
    std::vector<uint8_t> message(head_length + body_length);
    PackControl pack{head, head_length, body, body_length};
    pack_control(message.data(), &pack);

    wire::ControlHeader header;
    memcpy(&header, message.data(), sizeof(header));
    header.version = wire::kProtocolVersion;
    header.sender  = engine_.uuid();
    memcpy(message.data(), &header, sizeof(header));

    /* The table goes ahead of what waited for the lane. */
    if (header.type == static_cast<uint8_t>(wire::ControlType::Hello)) {
        queue_.push_front(std::move(message));
    } else {
        queue_.push_back(std::move(message));
    }
    drain_queue();
}

void Peer::drain_queue()
{
    while (!queue_.empty() && !(obstacles_ & (kFailed | kConnecting))) {
        if (!try_control(queue_.front().data(), queue_.front().size(),
                         nullptr, 0)) {
            block();
            if (obstacles_ & kBlocked) {
                return;
            }
            continue;
        }
        queue_.pop_front();
    }
    if (no_paths_ && !(obstacles_ & kConnecting)) {
        fail(UCS_ERR_UNREACHABLE);
    }
}

/* --- the user's pending queue --- */

ucs_status_t Peer::pending_add(PeerUser &user, uct_pending_req_t *req)
{
    if (obstacle_status() != UCS_ERR_NO_RESOURCE) {
        return UCS_ERR_BUSY; /* try again, or see the failure */
    }
    if (obstacles_ == kQueued) {
        engine_.defer(*this); /* nothing else would bring it up */
    }
    uct_pending_req_queue_push(&user.pending, req);
    ++user.queued;
    obstacles_ |= kQueued;
    return UCS_OK;
}

void Peer::pending_purge(PeerUser &user, uct_pending_purge_callback_t cb,
                         void *arg)
{
    while (!ucs_queue_is_empty(&user.pending)) {
        auto *priv = reinterpret_cast<char *>(
            ucs_queue_pull_non_empty(&user.pending));
        cb(reinterpret_cast<uct_pending_req_t *>(
               priv - offsetof(uct_pending_req_t, priv)),
           arg);
    }
    /* So UCP does while it connects; they come again later. */
    user.aside = true;
    strict_    = strict_ || user.taken < user.fenced;
    user.taken = user.queued;
    note_queued();
}

void Peer::note_queued()
{
    bool queued = std::any_of(users_.begin(), users_.end(),
                              [](PeerUser *user) {
                                  return !ucs_queue_is_empty(&user->pending);
                              });
    obstacles_ = queued ? obstacles_ | kQueued : obstacles_ & ~kQueued;
}

void Peer::dispatch_users()
{
    if (dispatching_) {
        return; /* a request ended something; the outer loop goes on */
    }
    dispatching_ = true;
    for (size_t i = 0; i < users_.size(); ++i) {
        PeerUser *user = users_[i];
        while (!ucs_queue_is_empty(&user->pending) &&
               obstacle_status() == UCS_OK) {
            ucs_queue_elem_t *elem = ucs_queue_pull_non_empty(&user->pending);
            auto *req = reinterpret_cast<uct_pending_req_t *>(
                reinterpret_cast<char *>(elem) -
                offsetof(uct_pending_req_t, priv));
            ++user->taken;
            ucs_status_t status = req->func(req);
            if (status == UCS_OK) {
                if (i >= users_.size() || users_[i] != user) {
                    break; /* the request destroyed the endpoint */
                }
                if (user->taken <= user->fenced) {
                    fence_begun(); /* it was queued before a fence */
                }
                continue;
            }
            ucs_queue_push_head(&user->pending, elem);
            --user->taken;
            if (UCS_STATUS_IS_ERR(status)) {
                break;
            }
        }
    }
    note_queued();
    if ((obstacles_ & kQueued) && obstacle_status() == UCS_OK) {
        /* A request was refused although there is room again by now: nothing
         * else would bring it up. */
        engine_.defer(*this);
    }
    dispatching_ = false;
}

/* --- failure --- */

void Peer::end_op(Epochs::Id id)
{
    if (epochs_.end(id)) {
        check_waiters();
    }
}

ucs_status_t Peer::check(unsigned flags, uct_completion_t *comp)
{
    if (obstacles_ & kFailed) {
        return failed_;
    }
    if (obstacles_ & kConnecting) {
        return UCS_OK;
    }
    return uct_ep_check(control_, flags, comp);
}

/* The user gives the endpoint up. With nothing outstanding the connection
 * stays for others; else it cannot be kept, because a rail cancels all. */
void Peer::cancel()
{
    if ((obstacles_ & kFailed) ||
        (epochs_.outstanding() == 0 && flushes_.empty())) {
        return;
    }
    fail(UCS_ERR_CANCELED);
    finish_failure();
}

void Peer::fail(ucs_status_t status)
{
    if (obstacles_ & kFailed) {
        return;
    }
    ucs_debug("fuselink: peer %016lx failed: %s", uuid_,
              ucs_status_string(status));
    failed_     = status;
    obstacles_ |= kFailed;
    engine_.defer(*this);
}

void Peer::finish_failure()
{
    if (failure_done_) {
        return;
    }
    failure_done_ = true;

    queue_.clear();
    bulk_.fail(failed_);
    if (control_ != nullptr) {
        uct_ep_flush(control_, UCT_FLUSH_FLAG_CANCEL, nullptr);
    }
    engine_.gets().for_each(this, [&](Get &get) { end_get(get, failed_); });
    for (size_t i = 0; i < flushes_.size();) {
        FlushOp *op   = flushes_[i];
        size_t before = flushes_.size();
        if (op->wait_puts) {
            op->wait_puts = false;
            flush_step(op, failed_);
        } else if (op->wait_epoch && epochs_.passed(op->boundary)) {
            op->wait_epoch = false;
            flush_step(op, failed_);
        } else {
            ++i;
            continue;
        }
        if (flushes_.size() != before) {
            i = 0;
        }
    }

    if (failed_ == UCS_ERR_CANCELED) {
        return; /* the user did it */
    }
    /* The handler may destroy endpoints: work on a copy and check. */
    std::vector<PeerUser *> told = users_;
    for (PeerUser *user : told) {
        if (std::find(users_.begin(), users_.end(), user) != users_.end()) {
            uct_iface_handle_ep_err(&engine_.owner().super, user->ep,
                                    failed_);
        }
    }
}

} // namespace fuselink
