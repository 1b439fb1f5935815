/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "retransmission.h"

#include <algorithm>

namespace fuselink {
namespace {

/* A peer has failed when so many paths broke with the same bytes: most likely because
 * of these bytes. */
constexpr uint8_t kMostTries = 3;

} // namespace

/* What our NIC was to read nobody can send any more, if its end was that of this connection
 * alone (not dc). */
void Retransmission::on_torn_down(Path &path)
{
    chunks_.release_staging(path);
    if (!path.rail.by_ep()) {
        return;
    }
    for (Chunk *chunk : chunks_.take_lost_reads(path)) {
        send_again(*chunk);
    }
}

void Retransmission::on_drained(Path &path, uint32_t seen)
{
    for (Chunk *chunk : chunks_.take_lost(path, seen)) {
        const bool announced = chunk->serves_in_place() &&
                               wire::chunk_before(chunk->number, seen);
        if (announced) {
            end(*chunk);
        } else {
            send_again(*chunk);
        }
    }
}

void Retransmission::end(Chunk &chunk)
{
    Transfer &transfer = *chunk.transfer;
    chunks_.free(chunk);
    transfers_.part_ended(transfer);
}

/* By another path, unless its transfer has failed by now. */
void Retransmission::send_again(Chunk &chunk)
{
    if (chunk.transfer->status != UCS_OK) {
        end(chunk);
        return;
    }
    const bool blamed = !chunk.path->recovery.lost_its_wire();
    const auto tries  = static_cast<uint8_t>(chunk.tries + blamed);
    queue_.push({chunk.transfer, chunk.offset, chunk.length, tries, nullptr,
                 &chunk.path->rail.health});
    chunks_.free(chunk);
    if (blamed && tries == kMostTries && !connection_.failed()) {
        ucs_warn("fuselink: %u connections to peer %016lx broke with the same "
                 "bytes: given up", kMostTries, connection_.uuid());
        connection_.fail(UCS_ERR_IO_ERROR);
    }
}

void Retransmission::send()
{
    size_t passed = 0;
    while (passed < queue_.size() && !connection_.failed()) {
        RetransmitSegment segment  = queue_.front();
        Transfer         &transfer = *segment.transfer;
        if (!memory_.still_there(transfer, segment.offset, segment.length)) {
            transfers_.stop(transfer, UCS_ERR_INVALID_ADDR);
            continue;
        }
        const TxDecision decision = selector_.next(transfer, &segment);
        if (decision.verdict == TxDecision::Verdict::Wait) {
            return;
        }
        if (decision.verdict == TxDecision::Verdict::Never) {
            passed = 0;
            transfers_.hand_over_rest(transfer);
            continue;
        }
        if (ucs_unlikely(decision.verdict == TxDecision::Verdict::Move)) {
            queue_.unstage(0);
            staging_.leave_queue(segment.staged);
            pump_.pump(); /* copies it to the host, when this is over */
            continue;
        }
        queue_.take(); /* posting may end the transfer's others */
        if (decision.verdict != TxDecision::Verdict::Send) {
            queue_.defer(segment);
            ++passed;
            continue;
        }
        passed = 0;
        if (chunks_.post(transfer, decision, &segment)) {
            if (segment.broke != nullptr) {
                segment.broke->chunks_resent(decision.length);
            }
            segment.offset += decision.length;
            segment.length -= decision.length;
        }
        if (segment.length != 0 && transfer.status == UCS_OK) {
            queue_.put_back(segment);
            continue;
        }
        staging_.leave_queue(segment.staged);
        queue_.sent(segment.length); /* what is left is given up */
        transfers_.part_ended(transfer);
    }
}

void Retransmission::copy()
{
    if (!paths_.any_usable()) {
        pump_.starve(); /* for a path, then for copies */
        return;
    }
    size_t copied = 0;
    for (size_t i = 0; i < queue_.size() && copied < staging_.most_ahead() &&
                       !connection_.failed(); ++i) {
        const RetransmitSegment &segment  = queue_.at(i);
        Transfer                &transfer = *segment.transfer;
        if (!transfer.from_gpu || segment.staged != nullptr ||
            !memory_.still_there(transfer, segment.offset, segment.length)) {
            copied += segment.staged != nullptr;
            continue;
        }
        const size_t length = std::min(segment.length, staging_.buffer_size());
        StagingSegment *staged = staging_.take(transfer, segment.offset,
                                               length);
        if (staged == nullptr) {
            return;
        }
        ++copied;
        staged->users  = 1;
        staged->passed = true;
        if (queue_.split(i, length, staged)) {
            ++transfer.outstanding;
        }
        staging_.copy(*staged); /* may end them all */
    }
}

} // namespace fuselink
