/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* BulkSender: memory of GPUs, which is copied to the host's first. */

#include "bulk.h"

#include "../sched/window.h"

#include <algorithm>

namespace fuselink {
namespace {

/* Pieces that are copied, or being so, and of which not all is on its way: the
 * GPU's link has the next one to do when one is done. */
constexpr size_t kAhead = 4;

/* Of these, so many that wait for a NIC, beside one for each path, are enough:
 * the GPU's own link keeps up, and others' are left alone. */
constexpr size_t kEnough = 1;

} // namespace

/* The bytes of a chunk as NICs and messages take them. */
const char *BulkSender::data(const Chunk &chunk) const
{
    return chunk.staged != nullptr ?
               chunk.staged->slot + (chunk.offset - chunk.staged->offset) :
               chunk.transfer->buffer + chunk.offset;
}

/* About a chunk of the fastest path: what comes first is soon on its way, and the
 * copies keep ahead of the NICs by little. */
size_t BulkSender::piece_length() const
{
    const sched::Limits &limits = env_.settings.limits;
    sched::Bytes         longest = limits.min_chunk;
    for (const auto &path : paths_) {
        if (path->usable()) {
            sched::Bytes window = sched::window_for(path->meter,
                                                    env_.host.now(),
                                                    limits);
            longest = std::max(longest, window / 4);
        }
    }
    return std::min<size_t>(longest.count(), env_.copies.slots_out().size());
}

/* Pieces that are copied, or being so, and not sent. */
size_t BulkSender::most_ahead() const
{
    return kAhead + paths_.size();
}

/* Copying is apart from sending: a path is chosen when the bytes are there, and
 * the windows of NICs count what NICs do. */
void BulkSender::copy_ahead()
{
    const size_t least = env_.settings.limits.min_chunk.count();
    const size_t longest = env_.copies.slots_out().size();
    size_t       piece = 0;
    for (size_t turn = 0; turn < to_copy_.size() &&
                          ahead_ < most_ahead() && !connection_.failed();) {
        Transfer &transfer = *to_copy_[turn];
        if (!still_there(transfer)) {
            ++turn; /* pump() ends it, when its turn comes */
            continue;
        }
        size_t rest = transfer.tail - transfer.staged_until;
        const size_t direct = for_direct(transfer);
        if (connection_.failed()) {
            return;
        }
        if (rest <= direct) {
            ++turn;
            continue;
        }
        piece = piece != 0 ? piece : piece_length();
        size_t length = std::min(piece, rest);
        if (rest - length < least && rest <= longest) {
            length = rest;
        }
        Staged *staged = new_staged(transfer, transfer.staged_until, length);
        if (staged == nullptr) {
            return;
        }
        (transfer.staged == nullptr ? transfer.staged :
                                      transfer.last_staged->next) = staged;
        transfer.last_staged = staged;
        transfer.staged_until += length;
        if (transfer.staged_until == transfer.tail) {
            to_copy_.erase(to_copy_.begin() +
                           static_cast<std::ptrdiff_t>(turn));
        }
        ++ahead_;
        copy(*staged);
    }
}

/* A slot for a piece of the transfer; null if there is none, until a chunk has
 * ended. */
Staged *BulkSender::new_staged(Transfer &transfer, size_t offset, size_t length)
{
    Slots &slots = env_.copies.slots_out();
    char  *slot  = slots.take();
    if (slot == nullptr) {
        if (slots.ready()) {
            env_.room.wait(*this);
        } else {
            connection_.fail(UCS_ERR_NO_MEMORY);
        }
        return nullptr;
    }
    Staged *staged = free_staged_;
    if (staged != nullptr) {
        free_staged_ = staged->next;
    } else {
        staged_pool_.push_back(std::make_unique<Staged>());
        staged = staged_pool_.back().get();
    }
    staged->sender   = this;
    staged->transfer = &transfer;
    staged->offset   = offset;
    staged->length   = length;
    staged->slot     = slot;
    staged->users    = 0;
    staged->copying  = true;
    staged->passed   = false;
    staged->next     = nullptr;
    return staged;
}

/* Begins to fill it; its failure may end the transfer, and the peer. */
void BulkSender::copy(Staged &staged)
{
    arm(staged.comp, on_copied);
    ++staged.transfer->outstanding;
    ++copying_;
    ++in_flight_;
    ucs_status_t status = env_.copies.begin_out(
        staged.slot, staged.transfer->buffer + staged.offset, staged.length,
        ahead_ < copying_ + kEnough + paths_.size(), &staged.comp);
    if (status != UCS_INPROGRESS) {
        staged.comp.status = status;
        copied(staged);
    }
}

void BulkSender::on_copied(uct_completion_t *comp)
{
    Staged *staged = reinterpret_cast<Staged *>(comp);
    staged->sender->copied(*staged);
}

void BulkSender::copied(Staged &staged)
{
    Transfer    *transfer = staged.transfer;
    ucs_status_t status   = staged.comp.status;
    --copying_;
    --in_flight_;
    --transfer->outstanding;
    if (status != UCS_OK) {
        if (transfer->status == UCS_OK) {
            transfer->status = status;
        }
        drop_unassigned(transfer);
        connection_.fail(status);
    }
    staged.copying = false; /* so that nobody else has let go of it */
    let_go(staged);
    if (transfer->over()) {
        finish(transfer);
    }
    pump();
}

/* A chunk of the transfer's next bytes has begun. */
void BulkSender::take_from(Transfer &transfer, size_t length)
{
    Staged &staged = *transfer.staged;
    if (transfer.assigned + length == staged.offset + staged.length) {
        transfer.staged = staged.next;
        staged.passed   = true;
        --ahead_;
    }
}

/* A NIC takes the transfer's last bytes from the GPU's memory: copies go towards
 * them from the front. */
void BulkSender::take_from_end(Transfer &transfer, size_t length)
{
    transfer.tail -= length;
    if (transfer.staged_until == transfer.tail) {
        to_copy_.erase(std::find(to_copy_.begin(), to_copy_.end(), &transfer));
    }
}

/* A chunk or a piece needs it no more; null if that was in none. */
void BulkSender::release_staged(Staged *staged)
{
    if (staged != nullptr) {
        --staged->users;
        let_go(*staged);
    }
}

/* Gives the slot back if nobody needs it any more. */
void BulkSender::let_go(Staged &staged)
{
    if (staged.passed && !staged.copying && staged.users == 0) {
        env_.copies.slots_out().give(staged.slot);
        staged.next  = free_staged_;
        free_staged_ = &staged;
    }
}

/* No more of the transfer is sent. What is being copied keeps it open: its memory
 * is read until then. */
void BulkSender::drop_staged(Transfer &transfer)
{
    if (transfer.staged_until != transfer.tail) {
        to_copy_.erase(std::find(to_copy_.begin(), to_copy_.end(),
                                 &transfer));
        transfer.staged_until = transfer.tail;
    }
    for (Staged *staged = transfer.staged, *next; staged != nullptr;
         staged = next) {
        next           = staged->next;
        staged->passed = true;
        --ahead_;
        let_go(*staged);
    }
    transfer.staged = nullptr;
}

/* Before the memory of the pieces goes away. Copies are this machine's own work
 * and wait for nobody; one that does not end is of a GPU that is broken, and
 * keeps what it writes to. */
void BulkSender::await_copies()
{
    if (copying_ != 0 &&
        !env_.copies.await([this] { return copying_ == 0; })) {
        ucs_error("fuselink: %zu copies from a GPU do not end", copying_);
        for (auto &staged : staged_pool_) {
            staged.release();
        }
    }
}

} // namespace fuselink
