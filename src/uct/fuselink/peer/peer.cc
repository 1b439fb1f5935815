/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "peer.h"

#include "../engine/engine.h"

#include <algorithm>

namespace fuselink {
namespace {

/* Longest short message that is copied together on the stack; above it the
 * copy costs more than the packing call that it saves. */
constexpr size_t kStackShort = 256;

constexpr uint8_t rail_am(wire::RailAm am)
{
    return static_cast<uint8_t>(am);
}

struct PackUser { /* a user's message behind our header */
    wire::UserHeader    header;
    uct_pack_callback_t pack;
    void               *arg;
};

size_t pack_user(void *dest, void *arg)
{
    auto *p = static_cast<PackUser *>(arg);
    memcpy(dest, &p->header, sizeof(p->header));
    return sizeof(p->header) +
           p->pack(static_cast<char *>(dest) + sizeof(p->header), p->arg);
}

struct PackShort { /* the user's 8-byte header and payload behind ours */
    wire::UserHeader header;
    uint64_t         user_header;
    const void      *payload;
    size_t           length;
};

size_t pack_short(void *dest, void *arg)
{
    auto *p   = static_cast<PackShort *>(arg);
    auto *out = static_cast<char *>(dest);
    memcpy(out, &p->header, sizeof(p->header));
    memcpy(out + 8, &p->user_header, 8);
    memcpy(out + 16, p->payload, p->length);
    return 16 + p->length;
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

} // namespace

Peer::Peer(Engine &engine, uint64_t uuid)
    : engine_(engine), uuid_(uuid), hook_{}, bulk_(*this)
{
    hook_.req.func = on_hook;
    hook_.peer     = this;
}

Peer::~Peer()
{
    if (control_ != nullptr) {
        uct_ep_pending_purge(control_, [](uct_pending_req_t *, void *) {},
                             nullptr);
        uct_ep_destroy(control_);
    }
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
            drain_queue();
        } else {
            fail(status);
        }
    }
    if (!(obstacles_ & kFailed)) {
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
     * rails. */
    uint64_t mix = engine_.uuid() ^ uuid_;
    mix ^= mix >> 32;
    mix ^= mix >> 16;

    size_t count = address_.rails.size();
    bool   tried = false;
    for (bool any_route : {false, true}) {
        if (tried) {
            break; /* the peer refuses; another route leads to it as well */
        }
        for (size_t k = 0; k < count; ++k) {
            const auto &remote = address_.rails[(mix + k) % count];
            if (connect_over(remote, any_route, tried)) {
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

bool Peer::connect_over(const wire::RailRecord &remote, bool any_route,
                        bool &tried)
{
    int route = Rail::route_to(remote);
    for (const auto &rail : engine_.rails()) {
        bool usable = any_route ?
            rail->control().is_reachable(remote.device_address,
                                         remote.iface_address) :
            rail->reaches(remote, route);
        if (!usable) {
            continue;
        }
        tried = true;
        ucs_status_t status = rail->control().create_ep(
            remote.device_address, remote.iface_address, &control_);
        if (status == UCS_OK) {
            rail_ = rail.get();
            return true;
        }
        control_ = nullptr;
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
}

bool Peer::owns(uct_ep_h ep) const
{
    return ep == control_ || bulk_.owns(ep);
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
    return obstacles_ == 0 ? UCS_OK : UCS_ERR_NO_RESOURCE;
}

/* What a call on the control lane returned, with its consequences. */
ucs_status_t Peer::rail_status(ucs_status_t status)
{
    if (status == UCS_ERR_NO_RESOURCE) {
        block();
    } else if (UCS_STATUS_IS_ERR(status)) {
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
        return;
    }
    hook_.queued = true;
    if (uct_ep_pending_add(control_, &hook_.req, 0) != UCS_OK) {
        /* There is room after all; whoever was refused tries again. */
        hook_.queued = false;
        obstacles_  &= ~kBlocked;
    }
}

ucs_status_t Peer::on_hook(uct_pending_req_t *req)
{
    Peer *peer        = reinterpret_cast<ControlHook *>(req)->peer;
    peer->hook_.queued = false;
    peer->on_room();
    return UCS_OK;
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

/* --- messages --- */

ucs_status_t Peer::am_short(uint8_t id, uint64_t header, const void *payload,
                            unsigned length)
{
    if (ucs_unlikely(obstacles_ != 0)) {
        ucs_status_t status = obstacle_status();
        if (status != UCS_OK) {
            return status;
        }
    }
    wire::UserHeader own{id, 0, 0, am_sn_};
    ucs_status_t status;
    if (length <= kStackShort) {
        char     buffer[sizeof(header) + kStackShort];
        uint64_t own_word;
        memcpy(&own_word, &own, sizeof(own_word));
        memcpy(buffer, &header, sizeof(header));
        if (length != 0) { /* payload may be null then */
            memcpy(buffer + sizeof(header), payload, length);
        }
        status = uct_ep_am_short(control_, rail_am(wire::RailAm::User),
                                 own_word, buffer, sizeof(header) + length);
    } else {
        PackShort pack{own, header, payload, length};
        ssize_t sent = uct_ep_am_bcopy(control_, rail_am(wire::RailAm::User),
                                       pack_short, &pack, 0);
        status = sent < 0 ? static_cast<ucs_status_t>(sent) : UCS_OK;
    }
    if (ucs_likely(status == UCS_OK)) {
        ++am_sn_;
        unflushed_ = true;
        return UCS_OK;
    }
    return rail_status(status);
}

ssize_t Peer::am_bcopy(uint8_t id, uct_pack_callback_t pack, void *arg,
                       unsigned flags)
{
    if (ucs_unlikely(obstacles_ != 0)) {
        ucs_status_t status = obstacle_status();
        if (status != UCS_OK) {
            return status;
        }
    }
    PackUser user{{id, 0, 0, am_sn_}, pack, arg};
    ssize_t sent = uct_ep_am_bcopy(control_, rail_am(wire::RailAm::User),
                                   pack_user, &user, flags);
    if (ucs_likely(sent >= 0)) {
        ++am_sn_;
        unflushed_ = true;
        return sent - static_cast<ssize_t>(sizeof(user.header));
    }
    return rail_status(static_cast<ucs_status_t>(sent));
}

ucs_status_t Peer::am_zcopy(uint8_t id, const void *header,
                            unsigned header_len, const uct_iov_t *iov,
                            size_t iovcnt, unsigned flags,
                            uct_completion_t *comp)
{
    if (ucs_unlikely(obstacles_ != 0)) {
        ucs_status_t status = obstacle_status();
        if (status != UCS_OK) {
            return status;
        }
    }
    constexpr size_t kMaxHeader = 512;
    constexpr size_t kMaxIov    = 16;
    char      buffer[kMaxHeader];
    uct_iov_t lane_iov[kMaxIov];
    wire::UserHeader own{id, 0, 0, am_sn_};
    if (header_len > kMaxHeader - sizeof(own) || iovcnt > kMaxIov) {
        return UCS_ERR_INVALID_PARAM;
    }
    for (size_t i = 0; i < iovcnt; ++i) {
        lane_iov[i]      = iov[i];
        lane_iov[i].memh = UCT_MEM_HANDLE_NULL; /* it was fuselink's */
    }
    memcpy(buffer, &own, sizeof(own));
    memcpy(buffer + sizeof(own), header, header_len);
    ucs_status_t status = uct_ep_am_zcopy(
        control_, rail_am(wire::RailAm::User), buffer,
        static_cast<unsigned>(sizeof(own) + header_len), lane_iov, iovcnt,
        flags, comp);
    if (status == UCS_OK || status == UCS_INPROGRESS) {
        ++am_sn_;
        unflushed_ = true;
        return status;
    }
    return rail_status(status);
}

/* --- the user's pending queue --- */

ucs_status_t Peer::pending_add(PeerUser &user, uct_pending_req_t *req)
{
    if (obstacle_status() != UCS_ERR_NO_RESOURCE) {
        return UCS_ERR_BUSY; /* try again, or see the failure */
    }
    uct_pending_req_queue_push(&user.pending, req);
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
            ucs_status_t status = req->func(req);
            if (status == UCS_OK) {
                if (i >= users_.size() || users_[i] != user) {
                    break; /* the request destroyed the endpoint */
                }
                continue;
            }
            ucs_queue_push_head(&user->pending, elem);
            if (UCS_STATUS_IS_ERR(status)) {
                break;
            }
        }
    }
    dispatching_ = false;

    /* A request was refused although there is room again by now: nothing
     * else would bring it up. */
    for (PeerUser *user : users_) {
        if (!ucs_queue_is_empty(&user->pending) &&
            obstacle_status() == UCS_OK) {
            engine_.defer(*this);
            break;
        }
    }
}

/* --- flush, fence, failure --- */

void Peer::end_op(Epochs::Id id)
{
    if (epochs_.end(id)) {
        check_waiters();
    }
}

/* An epoch or an acknowledgement of small puts has moved on. */
void Peer::check_waiters()
{
    for (size_t i = 0; i < flushes_.size();) {
        FlushOp *op   = flushes_[i];
        size_t before = flushes_.size();
        if (op->wait_epoch && epochs_.passed(op->boundary)) {
            op->wait_epoch = false;
            flush_step(op, failed_);
        } else if (op->wait_puts && put_acked_ >= op->put_sn) {
            op->wait_puts = false;
            flush_step(op, failed_);
        } else {
            ++i;
            continue;
        }
        /* The step may have ended the operation, and its user may have begun
         * or ended others: start over rather than reason about it. */
        if (flushes_.size() != before) {
            i = 0;
        }
    }
    if ((obstacles_ & kFenced) && epochs_.passed(fence_boundary_)) {
        obstacles_ &= ~kFenced;
        dispatch_users();
    }
}

ucs_status_t Peer::fence()
{
    if (obstacles_ & kFailed) {
        return failed_;
    }
    if (epochs_.outstanding() != 0) {
        fence_boundary_ = epochs_.boundary();
        obstacles_     |= kFenced;
    }
    if (put_sn_ != put_acked_) {
        /* Later messages follow small puts on the same lane; only bulk data
         * could overtake them. */
        bulk_fence_ = put_sn_;
        request_put_ack();
    }
    return UCS_OK;
}

void Peer::request_put_ack()
{
    if (put_requested_ == put_sn_) {
        return;
    }
    put_requested_ = put_sn_;
    wire::Flush message{};
    message.header.type = static_cast<uint8_t>(wire::ControlType::FlushReq);
    message.sn          = put_sn_;
    send_control(&message, sizeof(message));
}

void Peer::on_control_flushed(uct_completion_t *comp)
{
    auto *op           = reinterpret_cast<FlushOp *>(comp);
    ucs_status_t status = comp->status;
    --op->peer->flushing_;
    op->peer->flush_step(op, status);
}

void Peer::flush_step(FlushOp *op, ucs_status_t status)
{
    if (status != UCS_OK && op->status == UCS_OK) {
        op->status = status;
    }
    if (--op->waiting != 0) {
        return;
    }
    auto it = std::find(flushes_.begin(), flushes_.end(), op);
    if (it != flushes_.end()) {
        flushes_.erase(it);
    }
    uct_completion_t *user = op->user;
    ucs_status_t result    = op->status;
    delete op;
    uct_invoke_completion(user, result);
}

ucs_status_t Peer::flush(unsigned flags, uct_completion_t *comp)
{
    if (flags & UCT_FLUSH_FLAG_CANCEL) {
        cancel();
        return UCS_OK;
    }
    if (obstacles_ & kFailed) {
        return failed_;
    }
    if ((obstacles_ & (kBlocked | kConnecting)) || !queue_.empty()) {
        return UCS_ERR_NO_RESOURCE;
    }
    if (put_sn_ != put_acked_) {
        request_put_ack();
    }

    if (comp == nullptr) {
        if (unflushed_ || flushing_ != 0) {
            ucs_status_t status = uct_ep_flush(control_, 0, nullptr);
            if (status != UCS_OK) {
                return rail_status(status);
            }
            unflushed_ = false;
        }
        return epochs_.outstanding() != 0 || put_sn_ != put_acked_ ?
                   UCS_INPROGRESS : UCS_OK;
    }

    /* Not a fast path: a flush waits for the network anyway. */
    auto *op        = new FlushOp{};
    op->comp.func   = on_control_flushed;
    op->comp.count  = 1;
    op->comp.status = UCS_OK;
    op->peer        = this;
    op->user        = comp;
    op->status      = UCS_OK;
    op->waiting     = 1;

    ucs_status_t status = UCS_OK;
    if (unflushed_ || flushing_ != 0) {
        status = uct_ep_flush(control_, 0, &op->comp);
    }
    if (status == UCS_INPROGRESS) {
        unflushed_ = false;
        ++flushing_;
        ++op->waiting;
    } else if (status != UCS_OK) {
        delete op;
        return rail_status(status);
    }
    if (epochs_.outstanding() != 0) {
        op->boundary   = epochs_.boundary();
        op->wait_epoch = true;
        ++op->waiting;
    }
    if (put_sn_ != put_acked_) {
        op->put_sn    = put_sn_;
        op->wait_puts = true;
        ++op->waiting;
    }
    if (--op->waiting == 0) {
        delete op;
        return UCS_OK;
    }
    flushes_.push_back(op);
    return UCS_INPROGRESS;
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
