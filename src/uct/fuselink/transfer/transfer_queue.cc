/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "transfer_queue.h"

#include <algorithm>

namespace fuselink {

Transfer &TransferQueue::add()
{
    if (free_.empty()) {
        pool_.push_back(std::make_unique<Transfer>());
        free_.push_back(pool_.back().get());
    }
    Transfer &transfer = *free_.back();
    free_.pop_back();
    transfer      = Transfer{};
    transfer.live = true;
    trials_.begin();
    return transfer;
}

void TransferQueue::remove(Transfer &transfer)
{
    transfer.live = false;
    transfer.keys.reset();
    if (ucs_unlikely(transfer.key_token != 0)) {
        keys_.drop_key_request(transfer.key_token);
    }
    free_.push_back(&transfer);
    trials_.end();
    pump_.transfer_ended();
}

ucs_status_t TransferQueue::begin(Transfer::Kind kind, PeerUser &user,
                                  const void *buffer, size_t length,
                                  uint64_t remote, Region *region,
                                  const RemoteKey &key, uct_completion_t *comp)
{
    Transfer &transfer     = add();
    transfer.kind          = kind;
    transfer.buffer        = static_cast<const char *>(buffer);
    transfer.remote        = remote;
    transfer.length        = length;
    transfer.comp          = comp;
    transfer.region        = region;
    transfer.remote_region = key.region;
    transfer.keys          = key.nics;
    transfer.from_gpu      = region != nullptr && region->on_gpu();
    transfer.to_gpu        = key.on_gpu;
    transfer.checked       = key.revocable;
    transfer.user          = &user;
    transfer.epoch         = owner_.begin_user_op(user);
    transfer.starting      = true;
    start(transfer);
    transfer.starting = false;
    if (transfer.handed_over) {
        hand_over(transfer);
        return UCS_INPROGRESS;
    }
    if (!transfer.over()) {
        return UCS_INPROGRESS;
    }
    ucs_status_t status = transfer.status;
    transfer.comp       = nullptr;
    finish(transfer);
    return status;
}

void TransferQueue::serve(const GetToServe &get)
{
    Transfer &transfer     = add();
    transfer.kind          = Transfer::Kind::ServeGet;
    transfer.buffer        = static_cast<const char *>(get.buffer);
    transfer.remote        = get.remote;
    transfer.length        = get.length;
    transfer.op            = get.op;
    transfer.own_region    = get.region;
    transfer.from_gpu      = get.from_gpu;
    transfer.to_gpu        = get.to_gpu;
    transfer.remote_region = get.to_region;
    transfer.checked       = get.confirm;
    ++serving_;
    confirming_           += get.confirm;
    start(transfer);
}

void TransferQueue::start(Transfer &transfer)
{
    transfer.tail         = transfer.length;
    transfer.demand.total = sched::Bytes(transfer.length);
    transfer.demand.home  = paths_.preferred(rotation_.next());
    transfer.queued       = true;
    if (waiting_.empty()) {
        paths_.drop_plan(); /* it knows nothing of this one */
    }
    plans_.note(transfer.length);
    waiting_.push_back(&transfer);
    bytes_ += transfer.length;
    if (transfer.from_gpu) {
        staging_.add(transfer);
    }
    if (transfer.to_gpu) {
        slots_.ask(paths_.size());
    }
    pump_.pump();
}

void TransferQueue::sent(Transfer &transfer, size_t length, bool from_end)
{
    bytes_ -= length;
    if (ucs_unlikely(from_end)) {
        staging_.take_from_end(transfer, length);
    } else {
        transfer.assigned += length;
    }
    if (transfer.assigned == transfer.tail) {
        transfer.queued = false;
        waiting_.pop_front();
    }
}

void TransferQueue::move_end(Transfer &transfer, StagingSegment &segment)
{
    staging_.take_from_end(transfer, segment.length);
    bytes_ -= segment.length;
    ++transfer.outstanding;
    retransmits_.push({&transfer, segment.offset, segment.length, 0, &segment});
    if (transfer.assigned == transfer.tail) {
        transfer.queued = false;
        waiting_.erase(std::find(waiting_.begin(), waiting_.end(), &transfer));
    }
}

void TransferQueue::defer_first()
{
    waiting_.push_back(waiting_.front());
    waiting_.pop_front();
}

void TransferQueue::hand_over_rest(Transfer &transfer)
{
    drop_unassigned(transfer);
    if (transfer.starting) {
        transfer.handed_over = true; /* begin() does it */
    } else {
        hand_over(transfer);
    }
}

/* None of our NICs can read it: the peer sends it. */
void TransferQueue::hand_over(Transfer &transfer)
{
    Transfer asked = transfer;
    remove(transfer);
    owner_.ask_for(asked);
}

void TransferQueue::drop_unassigned(Transfer &transfer)
{
    if (ucs_unlikely(!retransmits_.empty())) {
        retransmits_.drop(transfer, [&](const RetransmitSegment &segment) {
            staging_.leave_queue(segment.staged);
            --transfer.outstanding;
        });
    }
    if (!transfer.queued) {
        return;
    }
    bytes_           -= transfer.rest();
    transfer.assigned = transfer.tail;
    transfer.queued   = false;
    waiting_.erase(std::find(waiting_.begin(), waiting_.end(), &transfer));
    if (transfer.from_gpu) {
        staging_.drop(transfer);
    }
}

void TransferQueue::stop(Transfer &transfer, ucs_status_t status)
{
    if (transfer.status == UCS_OK) {
        transfer.status = status;
    }
    drop_unassigned(transfer);
    if (!connection_.failed()) {
        /* It may have been what the others waited behind, and nothing tells of
         * what it waited for any more. */
        pump_.pump_later();
    }
    end_if_over(transfer);
}

void TransferQueue::finish(Transfer &transfer)
{
    if (transfer.starting) {
        return; /* begin() looks when it is back there */
    }
    Transfer done = transfer;
    remove(transfer);
    if (done.kind != Transfer::Kind::ServeGet) {
        owner_.user_op_ended(done.user);
        if (done.comp != nullptr) {
            connection_.complete(done.comp, done.status);
        }
        owner_.end_op(done.epoch);
        return;
    }
    /* A get that was served to its end needs no message here: its chunks were
     * announced. When the peer has failed it is told so. */
    --serving_;
    confirming_ -= done.checked;
    if (connection_.failed()) {
        return;
    }
    if (done.status != UCS_OK) {
        owner_.refuse_get(done.op, done.status);
    } else if (done.checked) {
        owner_.confirm_get(done);
    }
    owner_.on_served();
}

bool TransferQueue::stop_serving(const wire::OpId &op)
{
    for (auto &transfer : pool_) {
        if (transfer->live && transfer->kind == Transfer::Kind::ServeGet &&
            transfer->op == op) {
            stop(*transfer, UCS_ERR_CANCELED);
            return true;
        }
    }
    return false;
}

void TransferQueue::cancel(const PeerUser &user)
{
    /* Completions may begin others and so make the pool grow. */
    for (size_t i = 0; i < pool_.size(); ++i) {
        Transfer &transfer = *pool_[i];
        if (transfer.live && transfer.user == &user) {
            stop(transfer, UCS_ERR_CANCELED);
        }
    }
}

void TransferQueue::forget(const PeerUser &user)
{
    /* What ends may let operations of other users begin, as in cancel(). */
    for (size_t i = 0; i < pool_.size(); ++i) {
        Transfer &transfer = *pool_[i];
        if (transfer.live && transfer.user == &user) {
            transfer.user = nullptr;
            transfer.comp = nullptr;
            stop(transfer, UCS_ERR_CANCELED);
        }
    }
}

void TransferQueue::fail(ucs_status_t status)
{
    /* finish() calls the user, who may start nothing new: the peer refuses.
     * So the queues only shrink here. */
    while (!waiting_.empty()) {
        stop(*waiting_.front(), status);
    }
    while (!retransmits_.empty()) {
        stop(*retransmits_.front().transfer, status);
    }
}

void TransferQueue::on_copy_failed(Transfer &transfer, ucs_status_t status)
{
    if (transfer.status == UCS_OK) {
        transfer.status = status;
    }
    drop_unassigned(transfer);
}

} // namespace fuselink
