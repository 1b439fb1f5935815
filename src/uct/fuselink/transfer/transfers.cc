/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* BulkSender: how transfers begin and end. */

#include "bulk.h"


#include <algorithm>

namespace fuselink {

Transfer *BulkSender::new_transfer()
{
    if (free_transfers_.empty()) {
        transfer_pool_.push_back(std::make_unique<Transfer>());
        free_transfers_.push_back(transfer_pool_.back().get());
    }
    Transfer *transfer = free_transfers_.back();
    free_transfers_.pop_back();
    *transfer      = Transfer{};
    transfer->live = true;
    return transfer;
}

void BulkSender::free_transfer(Transfer *transfer)
{
    transfer->live = false;
    transfer->keys.reset();
    if (ucs_unlikely(transfer->key_token != 0)) {
        keys_.drop_key_request(transfer->key_token);
    }
    free_transfers_.push_back(transfer);
}

/* A user's operation. Its completion is not called in here: UCT tells the
 * user by the status what has ended before the return. */
ucs_status_t BulkSender::begin(Transfer::Kind kind, PeerUser &user,
                               const void *buffer, size_t length,
                               uint64_t remote, Region *region,
                               const RemoteKey &key, uct_completion_t *comp)
{
    Transfer *transfer      = new_transfer();
    transfer->kind          = kind;
    transfer->buffer        = static_cast<const char *>(buffer);
    transfer->remote        = remote;
    transfer->length        = length;
    transfer->comp          = comp;
    transfer->region        = region;
    transfer->remote_region = key.region;
    transfer->keys          = key.nics;
    transfer->from_gpu      = region != nullptr && region->on_gpu();
    transfer->to_gpu        = key.on_gpu;
    transfer->user          = &user;
    transfer->epoch         = owner_.begin_user_op(user);
    transfer->starting      = true;
    start(transfer);
    transfer->starting = false;
    if (transfer->handed_over) {
        hand_over(transfer);
        return UCS_INPROGRESS;
    }
    if (!transfer->over()) {
        return UCS_INPROGRESS;
    }
    ucs_status_t status = transfer->status;
    transfer->comp      = nullptr;
    finish(transfer);
    return status;
}

/* None of our NICs can read it: the peer sends it. */
void BulkSender::hand_over(Transfer *transfer)
{
    Transfer asked = *transfer;
    free_transfer(transfer);
    owner_.ask_for(asked);
}

void BulkSender::serve_get(const void *buffer, size_t length, uint64_t remote,
                           const wire::OpId &op, const RegionKey &region,
                           bool from_gpu, bool to_gpu,
                           const RegionKey &to_region)
{
    Transfer *transfer   = new_transfer();
    transfer->kind       = Transfer::Kind::ServeGet;
    transfer->buffer     = static_cast<const char *>(buffer);
    transfer->remote     = remote;
    transfer->length     = length;
    transfer->op         = op;
    transfer->own_region = region;
    transfer->from_gpu   = from_gpu;
    transfer->to_gpu     = to_gpu;
    transfer->remote_region = to_region;
    ++serving_;
    start(transfer);
}

void BulkSender::drop_unassigned(Transfer *transfer)
{
    if (ucs_unlikely(!again_queue_.empty())) {
        drop_pieces(*transfer);
    }
    if (!transfer->queued) {
        return;
    }
    backlog_          -= transfer->rest();
    transfer->assigned = transfer->tail;
    transfer->queued   = false;
    queue_.erase(std::find(queue_.begin(), queue_.end(), transfer));
    if (transfer->from_gpu) {
        drop_staged(*transfer);
    }
}

/* Ends a transfer early: with what is under way. */
void BulkSender::stop(Transfer *transfer, ucs_status_t status)
{
    if (transfer->status == UCS_OK) {
        transfer->status = status;
    }
    drop_unassigned(transfer);
    if (transfer->over()) {
        finish(transfer);
    }
}

void BulkSender::finish(Transfer *transfer)
{
    if (transfer->starting) {
        return; /* begin() looks when it is back there */
    }
    Transfer done = *transfer;
    free_transfer(transfer);
    if (done.kind != Transfer::Kind::ServeGet) {
        owner_.user_op_ended(done.user);
        if (done.comp != nullptr) {
            uct_invoke_completion(done.comp, done.status);
        }
        owner_.end_op(done.epoch);
        return;
    }
    /* A get that was served to its end needs no message here: its chunks were
     * announced. When the peer has failed it is told so. */
    --serving_;
    if (connection_.failed()) {
        return;
    }
    if (done.status != UCS_OK) {
        owner_.refuse_get(done.op, done.status);
    }
    owner_.on_served();
}

bool BulkSender::stop_serving(const wire::OpId &op)
{
    for (auto &transfer : transfer_pool_) {
        if (transfer->live && transfer->kind == Transfer::Kind::ServeGet &&
            transfer->op == op) {
            stop(transfer.get(), UCS_ERR_CANCELED);
            return true;
        }
    }
    return false;
}

void BulkSender::cancel(const PeerUser &user)
{
    /* Completions may begin others and so make the pool grow. */
    for (size_t i = 0; i < transfer_pool_.size(); ++i) {
        Transfer *transfer = transfer_pool_[i].get();
        if (transfer->live && transfer->user == &user) {
            stop(transfer, UCS_ERR_CANCELED);
        }
    }
}

void BulkSender::forget(const PeerUser &user)
{
    /* What ends may let operations of other users begin, as in cancel(). */
    for (size_t i = 0; i < transfer_pool_.size(); ++i) {
        Transfer *transfer = transfer_pool_[i].get();
        if (transfer->live && transfer->user == &user) {
            transfer->user = nullptr;
            transfer->comp = nullptr;
            stop(transfer, UCS_ERR_CANCELED);
        }
    }
}

} // namespace fuselink
