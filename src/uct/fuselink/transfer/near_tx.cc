/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "near_tx.h"

#include <algorithm>

namespace fuselink {
namespace {

/* In a GPU's slots, and not given to a NIC: one that is on its way there, and for
 * each of two NICs one to send next. */
constexpr size_t kAhead = 3;

} // namespace

bool NearTx::feed_from_gpu(Transfer &transfer)
{
    NearSlots *near = copies_.near();
    if (near == nullptr || transfer.kind == Transfer::Kind::Get) {
        return false;
    }
    near->look();
    for (auto &path : paths_) {
        if (!paths_.in_play(*path) || path->state != Path::State::Ready) {
            continue;
        }
        const TxMethod method = methods_.method(transfer, *path);
        if (connection_.failed()) {
            return false;
        }
        if (!methods_.may_need_near(transfer, *path, method)) {
            continue;
        }
        Lender *lender = methods_.lender_for(transfer, *path, method);
        if (lender == nullptr) {
            near->demand(path->rail.memory());
            continue;
        }
        while (staging_.queued(*lender) < kAhead && transfer.queued &&
               move(transfer, *lender)) {
        }
        if (!transfer.queued) {
            return true;
        }
    }
    return false;
}

/* Of what no copy to the host has begun. */
bool NearTx::move(Transfer &transfer, Lender &lender)
{
    const size_t front = std::max(transfer.assigned, transfer.staging.until);
    if (transfer.tail <= front) {
        return false;
    }
    const size_t rest    = transfer.tail - front;
    const size_t longest = lender.offer.slot_size;
    size_t       length  = std::min({staging_.segment_length(), rest, longest});
    if (rest - length < limits_.min_chunk.count() && rest <= longest) {
        length = rest;
    }
    StagingSegment *segment = staging_.take_near(transfer, transfer.tail - length, length,
                                                 lender);
    if (segment == nullptr) {
        if (lender.in_use != 0) {
            pump_.await_room(); /* when one of these is free */
        } else {
            pump_.pump(); /* others have them all: it goes another way */
        }
        return false;
    }
    transfers_.move_end(transfer, *segment);
    staging_.fill(*segment);
    return true;
}

} // namespace fuselink
