/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* Peer: flush and fence, where the control lane and the bulk paths meet. */

#include "peer.h"

#include "../engine/engine.h"

#include <algorithm>

namespace fuselink {

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
    }
    if (obstacles_ == kQueued) {
        dispatch_users();
    }
}

ucs_status_t Peer::fence(bool of_interface)
{
    if (obstacles_ & kFailed) {
        return failed_;
    }
    /* What waits in a queue is before the fence, too: when it has begun, the
     * fence is repeated. For fences between requests of a queue only the last
     * is remembered, and then stands behind each of them. */
    for (PeerUser *user : users_) {
        if (!ucs_queue_is_empty(&user->pending)) {
            user->fenced = user->queued;
        }
        strict_ = strict_ || user->aside;
    }
    fence_begun(of_interface);
    return UCS_OK;
}

/* While UCP connects it keeps requests itself, and hands them over at once
 * when it is done. Nobody can tell which of them were before a fence that came
 * meanwhile: so there is one behind each, until all are handed over. */
void Peer::strict_repeat()
{
    fence_begun();
    strict_used_ = true;
    defer();
}

void Peer::end_strict()
{
    if (!strict_used_) {
        return;
    }
    strict_used_ = false;
    strict_      = false;
    for (PeerUser *user : users_) {
        user->fenced = user->queued;
        user->aside  = false;
    }
}

/* Keeps later operations behind those that have begun. */
void Peer::fence_begun(bool of_messages)
{
    if (of_messages && unfenced_) {
        ++put_sn_; /* acknowledged when the messages have been handled */
        unfenced_ = false;
    }
    /* Gets of the control lane are among these, though the lane keeps its order:
     * what they read is in the user's memory when the rail has looked at its
     * completions, and it looks at messages first. So the answer to a later
     * message, UCP's atomics for one, would seem to come after the get. */
    if (epochs_.outstanding() != 0) {
        fence_boundary_ = epochs_.boundary();
        obstacles_     |= kFenced;
    }
    if (lane_puts_) {
        /* Same lane: messages and gets follow its puts, and for puts it is told
         * when the next comes. Bulk data waits. */
        lane_put_fence_ = true;
        flush_lane_for_fence();
    }
    if (put_sn_ != put_acked_) {
        /* Later messages follow small puts on the same lane; only bulk data
         * could overtake them. */
        hold_bulk();
    }
}

/* In front of a put of the control lane. Not in front of a get: no get is under way
 * that it could overtake, and puts it follows in any case. The flag that UCX sets for
 * it would only have the NIC wait, for which soft-RoCE of Linux 6.1 may wait forever:
 * what it waits for can end unseen between its look and its falling asleep. */
ucs_status_t Peer::fence_lane_put()
{
    if (ucs_likely(!lane_put_fence_)) {
        return UCS_OK;
    }
    lane_put_fence_ = false;
    return uct_ep_fence(control_, 0);
}

/* Until the peer has handled what went to it as messages so far. */
void Peer::hold_bulk()
{
    bulk_fence_ = put_sn_;
    request_put_ack();
}

namespace {

struct LaneFence {
    uct_completion_t comp; /* first: UCX gives back a pointer to it */
    Peer            *peer;
    unsigned        *open;
};

} // namespace

/* Has bulk data wait until the puts on the control lane have ended.
 * The lane may not be able to tell now: then it waits until it is, too. */
void Peer::flush_lane_for_fence()
{
    auto *fence = new LaneFence{};
    arm(fence->comp, [](uct_completion_t *comp) {
        auto *self = reinterpret_cast<LaneFence *>(comp);
        Peer *peer = self->peer;
        --*self->open;
        delete self;
        peer->bulk().pump();
    });
    fence->peer = this;
    fence->open = &lane_fences_;
    ucs_status_t status = uct_ep_flush(control_, 0, &fence->comp);
    lane_fence_due_     = status == UCS_ERR_NO_RESOURCE;
    if (status == UCS_INPROGRESS) {
        ++lane_fences_;
    } else {
        delete fence;
    }
    if (lane_fence_due_) {
        defer();
        return;
    }
    lane_puts_ = false;
    if (UCS_STATUS_IS_ERR(status)) {
        fail(status);
    }
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
    if (user != nullptr) {
        uct_invoke_completion(user, result);
    }
}

/* Ends it for its user; the lane may keep it for longer. */
void Peer::end_flush(FlushOp *op, ucs_status_t status)
{
    uct_completion_t *user = op->user;
    op->user               = nullptr;
    op->owner              = nullptr;
    op->waiting           -= op->wait_epoch + op->wait_puts;
    op->wait_epoch = op->wait_puts = false;
    if (op->waiting == 0) {
        flushes_.erase(std::find(flushes_.begin(), flushes_.end(), op));
        delete op;
    }
    uct_invoke_completion(user, status);
}

/* Of one user, or with null of all. */
void Peer::end_flushes(const PeerUser *owner, ucs_status_t status)
{
    auto open = [&](const FlushOp *op) {
        return op->user != nullptr &&
               (owner == nullptr || op->owner == owner);
    };
    for (;;) { /* their completions may end others */
        auto it = std::find_if(flushes_.begin(), flushes_.end(), open);
        if (it == flushes_.end()) {
            return;
        }
        end_flush(*it, status);
    }
}

ucs_status_t Peer::flush(PeerUser *user, unsigned flags,
                         uct_completion_t *comp)
{
    if ((flags & UCT_FLUSH_FLAG_CANCEL) && user != nullptr) {
        return cancel(*user, comp);
    }
    if (obstacles_ & kFailed) {
        return failed_;
    }
    /* Pending requests came before the flush, which must not pass them; but
     * it may be one of them itself. */
    bool ask_lane = unflushed_ || flushing_ != 0;
    if ((ask_lane && (obstacles_ & (kBlocked | kConnecting))) ||
        ((obstacles_ & kQueued) && !dispatching_)) {
        return UCS_ERR_NO_RESOURCE;
    }
    if (puts_open()) {
        request_put_ack();
    }

    if (comp == nullptr) {
        if (ask_lane) {
            ucs_status_t status = uct_ep_flush(control_, 0, nullptr);
            if (status != UCS_OK) {
                return rail_status(status);
            }
            unflushed_ = false;
        }
        return epochs_.outstanding() != 0 || puts_open() ?
                   UCS_INPROGRESS : UCS_OK;
    }

    /* Not a fast path: a flush waits for the network anyway. */
    auto *op = new FlushOp{};
    arm(op->comp, on_control_flushed);
    op->peer    = this;
    op->owner   = user;
    op->user    = comp;
    op->status  = UCS_OK;
    op->waiting = 1;

    ucs_status_t status = UCS_OK;
    if (ask_lane) {
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
    if (puts_open()) {
        op->put_sn    = put_last_;
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

} // namespace fuselink
