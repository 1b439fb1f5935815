/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* BulkSender: bytes that were lost with their path go another way. */

#include "bulk.h"


#include <algorithm>

namespace fuselink {
namespace {

/* A peer has failed when the same bytes were lost with so many paths: most likely
 * because of these bytes. */
constexpr uint8_t kMostTries = 3;

} // namespace

void BulkSender::requeue(Chunk *chunk)
{
    uint8_t tries = static_cast<uint8_t>(chunk->tries + 1);
    again_queue_.push_back({chunk->transfer, chunk->offset, chunk->length,
                            tries, nullptr});
    backlog_ += chunk->length;
    release_staged(chunk->staged);
    free_chunk(chunk);
    if (tries == kMostTries) {
        ucs_warn("fuselink: %u connections to peer %016lx broke with the same "
                 "bytes: given up", kMostTries, connection_.uuid());
        connection_.fail(UCS_ERR_IO_ERROR);
    }
}

/* Gives the pieces to paths, as far as there is room. One that no path can carry
 * lets the others pass. */
void BulkSender::send_again()
{
    size_t passed = 0;
    while (passed < again_queue_.size() && !connection_.failed()) {
        Piece     piece    = again_queue_.front();
        Transfer &transfer = *piece.transfer;
        if (!still_there(transfer, piece.offset, piece.length)) {
            stop(&transfer, UCS_ERR_INVALID_ADDR);
            continue;
        }
        Pick pick = choose(transfer, &piece);
        if (pick.path == nullptr && !pick.none) {
            return;
        }
        again_queue_.pop_front(); /* posting may end the transfer's others */
        if (pick.path == nullptr) {
            again_queue_.push_back(piece);
            ++passed;
            continue;
        }
        passed = 0;
        if (post_chunk(transfer, pick, &piece)) {
            piece.offset += pick.length;
            piece.length -= pick.length;
        }
        if (piece.length != 0 && transfer.status == UCS_OK) {
            again_queue_.push_front(piece);
            continue;
        }
        release_staged(piece.staged);
        backlog_ -= piece.length;
        --transfer.outstanding;
        if (transfer.over()) {
            finish(&transfer);
        }
    }
}

/* Of a transfer that is given up. */
void BulkSender::drop_pieces(Transfer &transfer)
{
    for (auto it = again_queue_.begin(); it != again_queue_.end();) {
        if (it->transfer != &transfer) {
            ++it;
            continue;
        }
        release_staged(it->staged);
        backlog_ -= it->length;
        --transfer.outstanding;
        it = again_queue_.erase(it);
    }
}

/* The peer has failed. */
void BulkSender::end_lost(Path &path, ucs_status_t status)
{
    while (!path.lost.empty()) {
        Chunk    *chunk    = path.lost.front();
        Transfer *transfer = chunk->transfer;
        path.lost.pop_front();
        broken_ = broken_ || transfer->kind == Transfer::Kind::ServeGet;
        release_staged(chunk->staged);
        free_chunk(chunk);
        --transfer->outstanding;
        stop(transfer, status);
    }
}

/* What was lost of a GPU's memory is copied, again or for the first time, as far
 * ahead of the NICs as other copies. */
void BulkSender::copy_pieces()
{
    if (!any_usable()) {
        starved_ = true; /* for a path, then for copies */
        connection_.defer();
        return;
    }
    size_t copied = 0;
    for (size_t i = 0; i < again_queue_.size() && copied < most_ahead() &&
                       !connection_.failed(); ++i) {
        Piece piece = again_queue_[i];
        if (!piece.transfer->from_gpu || piece.staged != nullptr ||
            !still_there(*piece.transfer, piece.offset, piece.length)) {
            copied += piece.staged != nullptr;
            continue;
        }
        const size_t length = std::min(piece.length,
                                       env_.copies.slots_out().size());
        piece.staged        = new_staged(*piece.transfer, piece.offset, length);
        if (piece.staged == nullptr) {
            return;
        }
        ++copied;
        piece.staged->users  = 1;
        piece.staged->passed = true;
        Piece rest           = piece;
        rest.offset         += length;
        rest.length         -= length;
        rest.staged          = nullptr;
        piece.length         = length;
        again_queue_[i]      = piece;
        if (rest.length != 0) {
            ++rest.transfer->outstanding;
            again_queue_.insert(again_queue_.begin() +
                                    static_cast<std::ptrdiff_t>(i) + 1, rest);
        }
        copy(*piece.staged); /* may end them all */
    }
}

} // namespace fuselink
