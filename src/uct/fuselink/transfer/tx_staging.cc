/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "tx_staging.h"

#include "../sched/window.h"

#include <algorithm>

namespace fuselink {
namespace {

/* Of the segments that are ahead, so many that wait for a NIC, beside one for each
 * path, are enough: the GPU's own link keeps up, and others' are left alone. */
constexpr size_t kEnough = 1;

} // namespace

/* About a chunk of the fastest path: what comes first is soon on its way, and the
 * copies keep ahead of the NICs by little. */
size_t TxStaging::segment_length()
{
    sched::Bytes longest = limits_.min_chunk;
    for (const auto &path : paths_) {
        if (path->usable()) {
            sched::Bytes window = sched::window_for(path->meter, host_.now(),
                                                    limits_);
            longest = std::max(longest, window / 4);
        }
    }
    return std::min<size_t>(longest.count(), buffer_size());
}

void TxStaging::copy_ahead()
{
    const size_t least   = limits_.min_chunk.count();
    const size_t longest = buffer_size();
    size_t       usual   = 0;
    for (size_t turn = 0; turn < to_copy_.size() && ahead_ < most_ahead() &&
                          !connection_.failed();) {
        Transfer &transfer = *to_copy_[turn];
        if (!memory_.still_there(transfer)) {
            ++turn; /* the pump ends it, when its turn comes */
            continue;
        }
        Transfer::Staging &staging = transfer.staging;
        size_t rest = transfer.tail - staging.until;
        const size_t direct = methods_.left_to_gpu_readers(transfer);
        if (connection_.failed()) {
            return;
        }
        if (rest <= direct) {
            ++turn;
            continue;
        }
        usual = usual != 0 ? usual : segment_length();
        size_t length = std::min(usual, rest);
        if (rest - length < least && rest <= longest) {
            length = rest;
        }
        StagingSegment *segment = take(transfer, staging.until, length);
        if (segment == nullptr) {
            return;
        }
        (staging.first == nullptr ? staging.first : staging.last->next) =
            segment;
        staging.last   = segment;
        staging.until += length;
        if (staging.until == transfer.tail) {
            to_copy_.erase(to_copy_.begin() +
                           static_cast<std::ptrdiff_t>(turn));
        }
        ++ahead_;
        copy(*segment);
    }
}

StagingSegment *TxStaging::take(Transfer &transfer, size_t offset,
                                size_t length)
{
    Slots &slots = copies_.slots_out();
    char  *slot  = may_take(slots.ledger().free()) ? slots.take() : nullptr;
    if (slot == nullptr) {
        if (held_ != 0 || slots.ready()) {
            pump_.await_room();
        } else {
            connection_.fail(UCS_ERR_NO_MEMORY);
        }
        return nullptr;
    }
    ++held_;
    StagingSegment &segment = add(transfer, offset, length);
    segment.slot            = slot;
    return &segment;
}

StagingSegment &TxStaging::add(Transfer &transfer, size_t offset, size_t length)
{
    StagingSegment *segment = free_;
    if (segment != nullptr) {
        free_ = segment->next;
    } else {
        pool_.push_back(std::make_unique<StagingSegment>());
        segment = pool_.back().get();
    }
    segment->owner    = this;
    segment->transfer = &transfer;
    segment->offset   = offset;
    segment->length   = length;
    segment->near     = {};
    segment->users    = 0;
    segment->copying  = true;
    segment->failed   = false;
    segment->queued   = false;
    segment->passed   = false;
    segment->next     = nullptr;
    return *segment;
}

StagingSegment *TxStaging::take_near(Transfer &transfer, size_t offset, size_t length,
                                     Lender &lender)
{
    const NearSlots::Slot near = copies_.near()->take(lender);
    if (!near) {
        return nullptr;
    }
    StagingSegment &segment = add(transfer, offset, length);
    segment.near            = near;
    segment.slot            = near.memory;
    segment.users           = 1;
    segment.passed          = true;
    segment.queued          = true;
    return &segment;
}

void TxStaging::copy(StagingSegment &segment)
{
    arm(segment.comp, on_copied);
    ++segment.transfer->outstanding;
    ++copying_;
    ucs_status_t status = copies_.begin_out(
        segment.slot, segment.transfer->buffer + segment.offset, segment.length,
        ahead_ < copying_ + kEnough + paths_.size(), &segment.comp);
    if (status != UCS_INPROGRESS) {
        segment.comp.status = status;
        copied(segment);
    }
}

void TxStaging::fill(StagingSegment &segment)
{
    arm(segment.comp, on_filled);
    ++segment.transfer->outstanding;
    ++filling_;
    const ucs_status_t status = copies_.near()->fill(
        segment.near, segment.transfer->buffer + segment.offset, segment.length,
        &segment.comp);
    if (status != UCS_INPROGRESS) {
        segment.comp.status = status;
        filled(segment);
    }
}

void TxStaging::on_filled(uct_completion_t *comp)
{
    auto      *segment = reinterpret_cast<StagingSegment *>(comp);
    TxStaging &owner   = *segment->owner;
    owner.copies_.near()->filled(segment->near, segment->length, comp->status);
    owner.filled(*segment);
}

/* Where that did not go well, the bytes are where they were. */
void TxStaging::filled(StagingSegment &segment)
{
    Transfer &transfer = *segment.transfer;
    --filling_;
    --transfer.outstanding;
    segment.copying = false;
    segment.failed  = segment.comp.status != UCS_OK;
    let_go(segment);
    listener_.on_copied(transfer);
    pump_.pump();
}

size_t TxStaging::queued(const Lender &lender) const
{
    return static_cast<size_t>(
        std::count_if(pool_.begin(), pool_.end(), [&](const auto &segment) {
            return segment->queued && segment->near.lender == &lender;
        }));
}

void TxStaging::on_copied(uct_completion_t *comp)
{
    auto *segment = reinterpret_cast<StagingSegment *>(comp);
    segment->owner->copied(*segment);
}

void TxStaging::copied(StagingSegment &segment)
{
    Transfer    &transfer = *segment.transfer;
    ucs_status_t status   = segment.comp.status;
    --copying_;
    --transfer.outstanding;
    if (status != UCS_OK) {
        /* It is no fault of the GPU's that another thread has just taken the memory away. */
        const bool there = memory_.still_there(transfer, segment.offset, segment.length);
        listener_.on_copy_failed(transfer, there ? status : UCS_ERR_INVALID_ADDR);
        if (there) {
            connection_.fail(status);
        }
    }
    segment.copying = false; /* so that nobody else has let go of it */
    let_go(segment);
    listener_.on_copied(transfer);
    pump_.pump();
}

void TxStaging::take_from(Transfer &transfer, size_t length)
{
    StagingSegment &segment = *transfer.staging.first;
    if (transfer.assigned + length == segment.offset + segment.length) {
        transfer.staging.first = segment.next;
        segment.passed         = true;
        --ahead_;
    }
}

void TxStaging::take_from_end(Transfer &transfer, size_t length)
{
    transfer.tail -= length;
    if (transfer.staging.until == transfer.tail) {
        to_copy_.erase(std::find(to_copy_.begin(), to_copy_.end(), &transfer));
    }
}

/* Gives the buffer back if nobody needs it any more. */
void TxStaging::let_go(StagingSegment &segment)
{
    if (segment.passed && !segment.copying && segment.users == 0) {
        if (ucs_unlikely(static_cast<bool>(segment.near))) {
            copies_.near()->give(segment.near);
        } else {
            copies_.slots_out().give(segment.slot);
            --held_;
        }
        segment.next = free_;
        free_        = &segment;
    }
}

void TxStaging::drop(Transfer &transfer)
{
    if (transfer.staging.until != transfer.tail) {
        to_copy_.erase(std::find(to_copy_.begin(), to_copy_.end(),
                                 &transfer));
        transfer.staging.until = transfer.tail;
    }
    for (StagingSegment *segment = transfer.staging.first, *next;
         segment != nullptr; segment = next) {
        next            = segment->next;
        segment->passed = true;
        --ahead_;
        let_go(*segment);
    }
    transfer.staging.first = nullptr;
}

void TxStaging::await()
{
    if (copying() != 0 && !copies_.await([this] { return copying() == 0; })) {
        ucs_error("fuselink: %zu copies from a GPU do not end", copying());
        for (auto &segment : pool_) {
            segment.release();
        }
    }
}

} // namespace fuselink
