/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "pending_queue.h"

#include <algorithm>

namespace fuselink {

void PendingQueue::attach(PeerUser &user)
{
    ucs_queue_head_init(&user.pending);
    users_.push_back(&user);
}

void PendingQueue::detach(PeerUser &user)
{
    users_.erase(std::find(users_.begin(), users_.end(), &user));
    note_queued();
}

bool PendingQueue::has(const PeerUser &user) const
{
    return std::find(users_.begin(), users_.end(), &user) != users_.end();
}

ucs_status_t PendingQueue::admission()
{
    if (channel_.has(ControlChannel::kFailed)) {
        return conn_.failure();
    }
    if (ucs_unlikely(channel_.has(ControlChannel::kResting | ControlChannel::kFenceDue))) {
        end_rest();
    }
    order_.look_at_fence();
    /* A request that is being called is what others wait for. */
    unsigned counted = channel_.obstacles();
    if (in_request()) {
        counted &= ~unsigned{ControlChannel::kQueued};
    }
    return counted == 0 ? UCS_OK : UCS_ERR_NO_RESOURCE;
}

/* An operation is about to begin. */
void PendingQueue::end_rest()
{
    if (channel_.has(ControlChannel::kResting)) {
        conn_.rouse();
    }
    if (channel_.has(ControlChannel::kFenceDue)) {
        channel_.clear(ControlChannel::kFenceDue);
        note_fence();
        order_.fence();
    }
}

ucs_status_t PendingQueue::add(PeerUser &user, uct_pending_req_t *req)
{
    if (admission() != UCS_ERR_NO_RESOURCE) {
        return UCS_ERR_BUSY; /* try again, or see the failure */
    }
    if (channel_.obstacles() == ControlChannel::kQueued) {
        conn_.defer(); /* nothing else would bring it up */
    }
    uct_pending_req_queue_push(&user.pending, req);
    ++user.queued;
    channel_.set(ControlChannel::kQueued);
    return UCS_OK;
}

void PendingQueue::purge(PeerUser &user, uct_pending_purge_callback_t cb,
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
    if (user.taken < user.fenced) {
        order_.be_strict();
    }
    user.taken = user.queued;
    note_queued();
}

void PendingQueue::note_queued()
{
    bool queued = std::any_of(users_.begin(), users_.end(),
                              [](PeerUser *user) {
                                  return !ucs_queue_is_empty(&user->pending);
                              });
    if (queued) {
        channel_.set(ControlChannel::kQueued);
    } else {
        channel_.clear(ControlChannel::kQueued);
    }
}

void PendingQueue::dispatch()
{
    if (dispatching_) {
        return; /* a request ended something; the outer loop goes on */
    }
    if (ucs_unlikely(conn_.calls().held().away())) {
        conn_.calls().held().owe(conn_); /* requests are the program's */
        return;
    }
    dispatching_ = true;
    const UserCalls::Inside inside(conn_.calls(), &conn_);
    for (size_t i = 0; i < users_.size(); ++i) {
        PeerUser *user = users_[i];
        while (!ucs_queue_is_empty(&user->pending) &&
               admission() == UCS_OK) {
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
                    order_.fence(); /* it was queued before a fence */
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
    if (channel_.has(ControlChannel::kQueued) && admission() == UCS_OK) {
        /* A request was refused although there is room again by now: nothing
         * else would bring it up. */
        conn_.defer();
    }
    dispatching_ = false;
}

/* When such a request has begun, the fence is repeated. For fences between
 * requests of a queue only the last is remembered, and then stands behind each of
 * them. */
void PendingQueue::note_fence()
{
    for (PeerUser *user : users_) {
        if (!ucs_queue_is_empty(&user->pending)) {
            user->fenced = user->queued;
        }
        if (user->aside) {
            order_.be_strict();
        }
    }
}

void PendingQueue::end_strict()
{
    if (conn_.calls().held().away()) {
        return; /* the program may be about to hand over more; dispatch() owes it a turn */
    }
    if (!order_.end_strict()) {
        return;
    }
    for (PeerUser *user : users_) {
        user->fenced = user->queued;
        user->aside  = false;
    }
}

} // namespace fuselink
