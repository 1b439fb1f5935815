/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "peer.h"

#include "../engine/engine.h"

#include <algorithm>
#include <cstring>

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

/* Answers that wait for the lane. No program asks for so many before it looks
 * for one, and who does not look gets no others. */
constexpr size_t kMaxAnswers = 16 << 20;

/* The peer decides how many of these there are. Parts of gets are bounded where
 * they are served. */
bool is_answer(const std::vector<uint8_t> &message)
{
    switch (static_cast<wire::ControlType>(message[0])) {
    case wire::ControlType::GetDone:
    case wire::ControlType::FlushAck:
    case wire::ControlType::KeyData:
    case wire::ControlType::ChunkAck:
    case wire::ControlType::LoadGrant:
    case wire::ControlType::SlotGrant:
    case wire::ControlType::PathQuiet:
        return true;
    default:
        return false;
    }
}

/* What comes later says all that was said. */
bool replaces(const std::vector<uint8_t> &message,
              const std::vector<uint8_t> &earlier)
{
    auto type = static_cast<wire::ControlType>(message[0]);
    return message[0] == earlier[0] &&
           message.size() == earlier.size() &&
           (type == wire::ControlType::FlushAck ||
            type == wire::ControlType::LoadGrant);
}

/* Errors of a call, which say nothing of the connection. */
bool is_callers_error(ucs_status_t status)
{
    return status == UCS_ERR_INVALID_PARAM || status == UCS_ERR_NO_MEMORY ||
           status == UCS_ERR_UNSUPPORTED || status == UCS_ERR_EXCEEDS_LIMIT;
}

} // namespace

Peer::Peer(Engine &engine, uint64_t uuid, uint32_t session)
    : Connection(uuid, session), engine_(engine),
      endpoints_(*this, engine.lanes(), engine.poller(),
                 engine.settings().max_qps),
      hook_{},
      put_sn_(uint64_t{session} << 32), put_last_(put_sn_),
      put_requested_(put_sn_), put_acked_(put_sn_), bulk_fence_(put_sn_),
      bulk_(*this, endpoints_, *this, *this, *this, engine.bulk_context())
{
    hook_.req.func = on_hook;
    hook_.peer     = this;
}

Peer::~Peer()
{
    engine_.contacts().forget(*this);
    close_lanes();
    end_lending();
    for (FlushOp *op : flushes_) {
        delete op;
    }
}

void Peer::defer()
{
    engine_.defer(*this);
}

void Peer::run_deferred()
{
    if (!failed() && way_failed_) {
        next_way();
    }
    if (!failed() && !hello_taken_ && !spares_.empty()) {
        take_spare();
    }
    spares_.sweep();
    if (!failed() && (obstacles_ & kConnecting) && !way_failed_) {
        ucs_status_t status = connect_now();
        if (status != UCS_OK) {
            fail(status);
        }
    }
    if (!failed() && lane_) {
        lane_->advance();
        if ((obstacles_ & kWiring) && lane_->settled()) {
            lane_settled();
        }
    }
    if (!failed() && hello_fence_due_ && !(obstacles_ & kConnecting)) {
        hello_fence_due_ = false;
        ++put_sn_; /* stands for the hello */
        hold_bulk();
    }
    end_strict();
    if (room_later_ && !failed()) {
        room_later_ = false;
        on_room();
    }
    if (!failed()) {
        if (lane_fence_due_) {
            flush_lane_for_fence();
            bulk_.pump(); /* may have waited for it */
        }
        drain_queue();
        dispatch_users();
    }
    if (!failed() && !bulk_.run_deferred()) {
        fail(UCS_ERR_UNREACHABLE);
    }
    if (ucs_unlikely(breaks_ != 0) && !failed()) {
        quieten(); /* after what broke here was torn down */
    }
    check_cancels();
    if (failed() && !leave_.begun) {
        if (awaits_goodbye()) {
            defer();
            return;
        }
        begin_leave();
    }
    if (failed()) {
        advance_leave();
    }
}

void Peer::attach(PeerUser &user)
{
    ucs_queue_head_init(&user.pending);
    users_.push_back(&user);
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
        fail_with_lane(status, true);
    }
    return status;
}

/* Nothing is sent until the lane takes messages again. */
void Peer::block()
{
    obstacles_ |= kBlocked;
    if (hook_.queued || (obstacles_ & (kFailed | kConnecting))) {
        return; /* it is on the queue of the lane, or of the one before */
    }
    hook_.queued = true;
    if (hook_.running) {
        return; /* stays where it is: a rail's queue must not get it twice */
    }
    if (uct_ep_pending_add(control_, &hook_.req, 0) != UCS_OK) {
        /* Nothing will tell us: the lane is free, but what it needs to send
         * (buffers of the whole rail) is not. Asking again at once would be
         * a loop without end. */
        hook_.queued = false;
        room_later_  = true;
        defer();
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

/* False if the lane has no room. A lane that fails takes everything: nothing
 * will ever be sent there. */
bool Peer::try_control(uct_ep_h ep, const void *head, size_t head_length,
                       const void *body, size_t body_length)
{
    PackControl pack{head, head_length, body, body_length};
    ssize_t sent = uct_ep_am_bcopy(ep, rail_am(wire::RailAm::Control),
                                   pack_control, &pack, 0);
    if (sent >= 0) {
        return true;
    }
    if (sent != UCS_ERR_NO_RESOURCE) {
        on_lane_error(ep, static_cast<ucs_status_t>(sent));
        return true;
    }
    return false;
}

/* Fills in what is the same for all control messages of this peer. */
void Peer::stamp(void *head) const
{
    wire::ControlHeader header;
    memcpy(&header, head, sizeof(header));
    header.version = wire::kProtocolVersion;
    header.session = session();
    header.sender  = engine_.uuid();
    memcpy(head, &header, sizeof(header));
}

void Peer::send_control(void *head, size_t head_length, const void *body,
                        size_t body_length)
{
    if (failed() || !connected()) {
        return;
    }
    stamp(head);
    if (queue_.empty() && !(obstacles_ & (kBlocked | kConnecting)) &&
        !draining_ && hello_taken_) {
        if (try_control(control_, head, head_length, body, body_length)) {
            return;
        }
        block();
    }
    std::vector<uint8_t> message(head_length + body_length);
    PackControl pack{head, head_length, body, body_length};
    pack_control(message.data(), &pack);
    queue_control(std::move(message));
    drain_queue();
}

void Peer::queue_control(std::vector<uint8_t> message)
{
    /* The first one may be on its way just now. */
    if (queue_.size() > 1 && replaces(message, queue_.back())) {
        queue_.back() = std::move(message);
        return;
    }
    if (is_answer(message)) {
        if (answer_bytes_ + message.size() > kMaxAnswers) {
            ucs_error("fuselink: peer %016lx asks on and takes no answers, of "
                      "which %zu bytes wait: given up", uuid(), answer_bytes_);
            fail(UCS_ERR_EXCEEDS_LIMIT);
            return;
        }
        answer_bytes_ += message.size();
    }
    queue_bytes_ += message.size();
    queue_.push_back(std::move(message));
}

void Peer::drain_queue()
{
    constexpr unsigned obstacles = kFailed | kConnecting | kBlocked;
    if (draining_) {
        return; /* a lane that fails inside the call brought us here */
    }
    draining_  = true;
    bool taken = hello_taken_;
    while (!queue_.empty() && !(obstacles_ & obstacles)) {
        const auto &message = queue_.front();
        if (!try_control(control_, message.data(), message.size(), nullptr,
                         0)) {
            block();
            break;
        }
        if (way_failed_) {
            break; /* the next one takes it */
        }
        hello_taken_  = true;
        queue_bytes_  -= message.size();
        answer_bytes_ -= is_answer(message) ? message.size() : 0;
        queue_.pop_front();
    }
    draining_ = false;
    if (failed()) {
        return;
    }
    if (hello_taken_ && !taken) {
        name_silent_ways();
        if (table_known_) {
            start_lane();
        }
    }
    if (no_paths_ && queue_.empty() && !(obstacles_ & kConnecting)) {
        fail(UCS_ERR_UNREACHABLE);
        return;
    }
    serve_waiting();
}

/* --- the user's pending queue --- */

ucs_status_t Peer::pending_add(PeerUser &user, uct_pending_req_t *req)
{
    if (obstacle_status() != UCS_ERR_NO_RESOURCE) {
        return UCS_ERR_BUSY; /* try again, or see the failure */
    }
    if (obstacles_ == kQueued) {
        defer(); /* nothing else would bring it up */
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
        defer();
    }
    dispatching_ = false;
}

} // namespace fuselink
