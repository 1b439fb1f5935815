/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "chunk_tx.h"

#include <utility>

namespace fuselink {
namespace {

/* What a user hears of an operation by a key that the peer has ended. */
constexpr ucs_status_t kKeyEnded = UCS_ERR_CONNECTION_RESET;

/* A kernel has it, not a NIC. */
bool on_stream(const Chunk &chunk)
{
    return !chunk.by_messages && chunk.path->rail.traits().stream;
}

} // namespace

Chunk &ChunkTx::make(Transfer &transfer, const TxDecision &decision,
                     const RetransmitSegment *segment)
{
    Chunk &chunk = pool_.take();
    arm(chunk.comp, on_chunk);
    chunk.owner       = this;
    chunk.transfer    = &transfer;
    chunk.path        = decision.path;
    chunk.length      = decision.length;
    chunk.traced      = 0;
    chunk.staged      = segment != nullptr ? segment->staged :
                        decision.direct    ? nullptr :
                                             transfer.staging.first;
    chunk.offset      = segment != nullptr ? segment->offset :
                        decision.direct    ? transfer.tail - decision.length :
                                             transfer.assigned;
    chunk.tries       = segment != nullptr ? segment->tries : uint8_t{0};
    chunk.sent        = 0;
    chunk.in_slot     = decision.method == TxMethod::Slot;
    chunk.pool        = decision.pool;
    chunk.by_messages = decision.method == TxMethod::Messages || chunk.in_slot;
    chunk.left        = false;
    chunk.status      = UCS_OK;
    return chunk;
}

bool ChunkTx::post(Transfer &transfer, const TxDecision &decision,
                   const RetransmitSegment *segment)
{
    Path   &path  = *decision.path;
    Chunk  &chunk = make(transfer, decision, segment);
    int64_t since = ucs_unlikely(trace_.on()) ? trace_.now() : 0;

    /* Counted before posting: a rail that fails inside the call ends other
     * chunks of this transfer, which must not free it under our feet. */
    ++transfer.outstanding;
    ++in_flight_;
    path.posted(sched::Bytes(chunk.length));
    if (chunk.by_messages || transfer.kind == Transfer::Kind::ServeGet) {
        chunk.number = path.chunk_number++; /* the peer sees it */
    }
    const ucs_status_t status = hand_to_rail(chunk, decision.method);
    if (status != UCS_OK && status != UCS_INPROGRESS) {
        not_posted(chunk, status);
        return false;
    }
    ++path.chunks;
    if (ucs_unlikely(trace_.on())) {
        trace_.begin(chunk, since, *decision.seen);
    }
    posted(chunk, decision, segment != nullptr);
    if (status == UCS_OK) {
        done(chunk);
    }
    return true;
}

/* UCS_OK if it is over, UCS_INPROGRESS if its completion tells, or an
 * acknowledgement. */
ucs_status_t ChunkTx::hand_to_rail(Chunk &chunk, TxMethod method)
{
    Path &path = *chunk.path;
    if (method == TxMethod::Rma) {
        ++path.on_nic;
        if (on_stream(chunk)) {
            buffers_.prepare(path);
        }
        return rma_.post(chunk);
    }
    ucs_status_t status = chunk.in_slot ? post_to_slot(chunk) : UCS_INPROGRESS;
    if (status == UCS_INPROGRESS) {
        path.parts.push_back(&chunk);
    }
    return status;
}

/* Puts the chunk into a slot. What tells the peer follows on the path, in turn
 * with what goes by messages. */
ucs_status_t ChunkTx::post_to_slot(Chunk &chunk)
{
    chunk.loan          = slots_.credits(chunk.pool).take();
    chunk.comp.func     = on_put;
    chunk.waits         = 2;
    ucs_status_t status = rma_.post_to_slot(chunk);
    if (status == UCS_OK) {
        chunk.waits = 1;
        return UCS_INPROGRESS; /* until the peer says more */
    }
    if (status == UCS_INPROGRESS) {
        ++chunk.path->on_nic;
    } else {
        slots_.credits(chunk.pool).untake(chunk.loan);
    }
    return status;
}

/* The rail has the chunk, or will have its parts. */
void ChunkTx::posted(Chunk &chunk, const TxDecision &decision,
                     bool retransmits)
{
    Path     &path     = *chunk.path;
    Transfer &transfer = *chunk.transfer;
    poller_.hold(path.poll_index());
    trials_.sends(chunk.length);
    if (chunk.staged != nullptr) {
        ++chunk.staged->users;
        if (!retransmits) {
            staging_.take_from(transfer, chunk.length);
        }
    }
    if (ucs_likely(!retransmits)) {
        transfers_.sent(transfer, chunk.length, decision.direct);
    } else {
        transfers_.retransmits().sent(chunk.length);
    }
    if (chunk.by_messages) {
        messages_.send(path);
    } else if (transfer.kind == Transfer::Kind::ServeGet) {
        ++path.serving;
        notices_.announce(chunk);
    }
}

/* The rail did not take the chunk. */
void ChunkTx::not_posted(Chunk &chunk, ucs_status_t status)
{
    Path         &path     = *chunk.path;
    Transfer     &transfer = *chunk.transfer;
    const size_t  length   = chunk.length;
    path.ended(sched::Bytes(length), false);
    path.planned += static_cast<double>(length);
    off_nic(chunk);
    pool_.give_back(chunk);
    --in_flight_;
    const bool gone = status != UCS_ERR_NO_RESOURCE &&
                      !memory_.still_there(transfer);
    if (--transfer.outstanding == 0 && !transfer.queued) {
        transfers_.finish(transfer); /* it failed inside the call */
    }
    if (status == UCS_ERR_NO_RESOURCE) {
        room_.block(path);
    } else if (!gone) { /* then it ends with its next turn */
        recovery_.post_failed(path, status);
    }
}

/* --- ends --- */

void ChunkTx::on_chunk(uct_completion_t *comp)
{
    auto *chunk = reinterpret_cast<Chunk *>(comp);
    chunk->owner->done(*chunk);
}

/* The path's NIC, or its kernel, has nothing of it any more. */
void ChunkTx::off_nic(const Chunk &chunk)
{
    chunk.path->on_nic -= !chunk.by_messages;
}

/* It is on its way no more, arrived or not. */
void ChunkTx::off_path(Chunk &chunk, bool arrived)
{
    Path &path = *chunk.path;
    trace_.end(chunk, arrived);
    poller_.release(path.poll_index());
    --in_flight_;
    off_nic(chunk);
    trials_.ended(chunk.length);
    path.serving -= chunk.serves_in_place();
    if (!chunk.left) {
        path.ended(sched::Bytes(chunk.length), arrived,
                   chunk.transfer->kind == Transfer::Kind::Get ?
                       Direction::In : Direction::Out);
    }
}

/* Keeps a chunk that ended with an error for another path. False if that does not
 * help. */
bool ChunkTx::lose(Chunk &chunk)
{
    Path &path = *chunk.path;
    if (connection_.failed() || chunk.by_messages ||
        PathRecovery::is_calls_error(chunk.comp.status)) {
        return false;
    }
    recovery_.break_path(path, chunk.comp.status);
    off_path(chunk, false);
    path.lost.push_back(&chunk);
    return true;
}

void ChunkTx::done(Chunk &chunk)
{
    Path         &path     = *chunk.path;
    Transfer     &transfer = *chunk.transfer;
    ucs_status_t  status   = chunk.comp.status;
    if (ucs_unlikely(status != UCS_OK) && lose(chunk)) {
        return;
    }
    const bool by_messages = chunk.by_messages;
    const bool serves      = chunk.serves_in_place();
    staging_.release(chunk.staged);
    off_path(chunk, status == UCS_OK);
    if (status == UCS_OK) {
        if (ucs_unlikely(path.recovery.out) && path.usable()) {
            recovery_.carries_again(path);
        }
        if (serves) {
            notices_.acknowledged(chunk);
        }
    }
    pool_.give_back(chunk);
    if (status != UCS_OK) {
        const bool refused = transfer.checks_key() && status == kKeyEnded &&
                             !connection_.failed();
        if (transfer.status == UCS_OK) {
            transfer.status = status;
        }
        transfers_.drop_unassigned(transfer);
        if (!refused) {
            broken_ = broken_ || serves;
            if (!by_messages) {
                path.recovery.broken = true;
            }
            connection_.fail(status);
        }
    }
    transfers_.part_ended(transfer);
    pump_.room_again();
}

void ChunkTx::on_put(uct_completion_t *comp)
{
    auto *chunk = reinterpret_cast<Chunk *>(comp);
    chunk->owner->put_done(*chunk);
}

/* The slot is full: the NIC has done its part, and the memory that it read is
 * free for others. */
void ChunkTx::put_done(Chunk &chunk)
{
    Path        &path   = *chunk.path;
    ucs_status_t status = chunk.comp.status;
    --path.on_nic;
    if (status != UCS_OK && !connection_.failed() &&
        !PathRecovery::is_calls_error(status)) {
        recovery_.break_path(path, status);
        if (chunk.waits == 2) {
            chunk.waits = 1; /* the peer says that it has it, or is drained */
            return;
        }
        status = UCS_OK; /* it has arrived, though that was not heard */
    }
    if (status != UCS_OK) {
        path.recovery.broken = true;
        connection_.fail(status);
    } else if (chunk.waits == 2) {
        chunk.left = true;
        path.ended(sched::Bytes(chunk.length), true);
        staging_.release(chunk.staged);
        chunk.staged = nullptr;
    }
    slot_step(chunk, status);
    pump_.room_again();
}

/* One of the two things that a chunk in a slot waits for: its put, and the
 * acknowledgement that the slot was emptied. */
void ChunkTx::slot_step(Chunk &chunk, ucs_status_t status)
{
    if (chunk.status == UCS_OK) {
        chunk.status = status;
    }
    if (--chunk.waits == 0) {
        chunk.comp.status = chunk.status;
        done(chunk);
    }
}

void ChunkTx::on_ack(const wire::ChunkAck &ack)
{
    Chunk *chunk = messages_.take_acknowledged(ack);
    if (chunk == nullptr) {
        return;
    }
    const bool   ended  = chunk->transfer->checks_key() &&
                          ack.status == UCS_ERR_INVALID_ADDR;
    ucs_status_t status = ack.status == UCS_OK ? UCS_OK :
                          ended                ? kKeyEnded : UCS_ERR_IO_ERROR;
    if (chunk->in_slot) {
        slots_.emptied(chunk->pool, chunk->loan, ack.keeps_slot != 0);
        slot_step(*chunk, status);
        pump_.room_again();
    } else {
        chunk->comp.status = status;
        done(*chunk);
    }
}

void ChunkTx::release_staging(Path &path)
{
    auto release = [this](Chunk &chunk) {
        staging_.release(chunk.staged);
        chunk.staged = nullptr;
    };
    for (auto *list : {&path.lost, &path.parts}) {
        for (Chunk *chunk : *list) {
            release(*chunk);
        }
    }
    path.unacked.for_each(release);
}

Fifo<Chunk *> ChunkTx::take_lost_reads(Path &path)
{
    Fifo<Chunk *> reads;
    path.lost.erase_if([&](Chunk *chunk) {
        const bool is_read = chunk->transfer->kind == Transfer::Kind::Get;
        if (is_read) {
            reads.push_back(chunk);
        }
        return is_read;
    });
    return reads;
}

Fifo<Chunk *> ChunkTx::take_lost(Path &path, uint32_t seen)
{
    Fifo<Chunk *> lost;
    lost.swap(path.lost);
    auto take = [&](Chunk &chunk) {
        off_path(chunk, false);
        lost.push_back(&chunk);
        if (chunk.in_slot) {
            slots_.credits(chunk.pool).untake(chunk.loan); /* the peer has not looked */
        }
    };
    while (!path.unacked.empty()) {
        take(*path.unacked.take());
    }
    for (Chunk *chunk : path.parts) {
        take(*chunk);
    }
    path.parts.clear();
    slots_.give_back(); /* that were to be, when they were empty */
    notices_.send_unseen(path, seen, lost);
    return lost;
}

void ChunkTx::abandon(Path &path, ucs_status_t status)
{
    path.notices.clear();
    auto end = [&](Chunk &chunk) {
        if (chunk.in_slot) {
            slot_step(chunk, status); /* its put ends by itself */
        } else {
            chunk.comp.status = status;
            done(chunk);
        }
    };
    while (!path.parts.empty()) {
        Chunk &chunk = *path.parts.front();
        path.parts.pop_front();
        end(chunk);
    }
    while (!path.unacked.empty()) {
        end(*path.unacked.take());
    }
    while (!path.lost.empty()) {
        Chunk    &chunk    = *path.lost.front();
        Transfer &transfer = *chunk.transfer;
        path.lost.pop_front();
        broken_ = broken_ || transfer.kind == Transfer::Kind::ServeGet;
        free(chunk);
        --transfer.outstanding;
        transfers_.stop(transfer, status);
    }
}

} // namespace fuselink
