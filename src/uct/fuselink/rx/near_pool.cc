/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "near_pool.h"

#include <algorithm>

namespace fuselink {

NearPool::NearPool(const Host &host, NearSlots &near, Lender &lender, RegionTable &regions)
    : host_(host), near_(near), lender_(lender), regions_(regions),
      key_(regions.add(lender.mapped->memory(), 0, &lender.mapped->region())),
      ledger_(std::min(lender.offer.slots, RelayRegistry::kSlots)), filled_at_(host.now())
{
    while (ledger_.take()) { /* until the lender has given one */
    }
}

NearPool::~NearPool()
{
    regions_.remove(key_);
}

std::vector<SlotCredit> NearPool::lend(SlotLedger::Borrower who, uint32_t want)
{
    while (ledger_.lent(who) + ledger_.free() < want) {
        const NearSlots::Slot slot = near_.take(lender_);
        if (!slot) {
            break;
        }
        slots_[slot.handle.slot] = slot;
        ledger_.give(slot.handle.slot);
    }
    return ledger_.lend(who, want);
}

bool NearPool::fill(SlotLedger::Borrower who, const SlotCredit &loan)
{
    filled_at_ = host_.now();
    return ledger_.fill(who, loan);
}

bool NearPool::give_surplus()
{
    while (const auto slot = ledger_.take()) {
        near_.give(slots_[*slot]);
        slots_[*slot] = {};
    }
    return std::none_of(slots_.begin(), slots_.end(), [](const NearSlots::Slot &slot) {
        return static_cast<bool>(slot);
    });
}

ucs_status_t NearPool::drain(uint32_t slot, void *gpu, size_t length, uct_completion_t *comp)
{
    return near_.drain(slots_[slot], gpu, length, comp);
}

void NearPool::drained(size_t length, ucs_status_t status)
{
    near_.drained(lender_, length, status);
}

} // namespace fuselink
