/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "lent_slots.h"

#include "gpu_context.h"

#include <algorithm>
#include <string>

namespace fuselink {
namespace {

using sched::Nanos;

/* Slots that nobody has used for so long are given back. */
constexpr Nanos kIdle = Nanos::seconds(5);

/* The program's own: less of the GPU's memory than this part, or so many times
 * the slots, is free. */
constexpr uint64_t kReservePart = 64, kReserveTimes = 4;

} // namespace

LentSlots::LentSlots(RelayRegistry &registry, uint32_t entry, UctMd &copies,
                     UctMd &ipc, const RelayRegistry::Offer &offer)
    : registry_(registry), entry_(entry), copies_(copies), ipc_(ipc),
      offer_(offer), pressure_(
          [](void *self) {
              auto *slots = static_cast<LentSlots *>(self);
              slots->registry_.notify(slots->entry_);
          },
          this)
{
}

char *LentSlots::at(uint32_t slot) const
{
    return pool_ && slot < offer_.slots ?
               pool_->memory() + size_t{slot} * offer_.slot_size : nullptr;
}

/* What the program has freed is lent again only when there is twice as much: it
 * may need it again. */
void LentSlots::look(Nanos now, bool stopping)
{
    const uint64_t size = uint64_t{offer_.slot_size} * offer_.slots;
    uint64_t       left = 0, total = 0;
    GpuContext::memory(left, total);
    const uint64_t reserve = std::max(total / kReservePart,
                                      kReserveTimes * size);
    const Nanos used = std::max(used_, std::min(registry_.demanded(entry_), now));
    if (pool_ && !leaving_ && (left < reserve || now - used > kIdle)) {
        ucs_debug("fuselink: slots in the GPU's memory, of which %lu bytes are "
                  "left, are given back", left);
        withdraw();
    } else if (!pool_ && !stopping && left >= 2 * reserve) {
        if (is_demanded()) {
            lend(now);
        } else if (!offered_empty_) {
            offer_on_demand();
        }
    } else if (offered_empty_) {
        withdraw();
    }
    if (!pool_) {
        pressure_.none();
    } else if (!leaving_) {
        pressure_.settle(static_cast<int64_t>(left - reserve));
    }
}

/* Since slots were there, or refused. */
bool LentSlots::is_demanded() const
{
    return registry_.demanded(entry_) > answered_;
}

/* Until somebody asks the program has all of the memory. */
void LentSlots::offer_on_demand()
{
    RelayRegistry::Offer offer = offer_;
    offer.on_demand = 1;
    registry_.offer(entry_, offer);
    offered_empty_ = true;
}

void LentSlots::lend(Nanos now)
{
    std::string error;
    offered_empty_ = false;
    answered_ = used_ = now;
    pool_ = RelayPool::allocate(copies_, ipc_, offer_, error);
    if (pool_) {
        registry_.offer(entry_, offer_);
        return;
    }
    registry_.withdraw(entry_); /* the next look() offers some on demand */
    if (!refused_) {
        refused_ = true;
        ucs_debug("fuselink: the GPU's link is not lent to others: %s",
                  error.c_str());
    }
}

void LentSlots::withdraw()
{
    registry_.withdraw(entry_);
    offered_empty_ = false;
    leaving_       = pool_ != nullptr;
}

void LentSlots::free(Nanos now)
{
    leaving_ = false;
    pool_.reset();
    pressure_.none();
    answered_ = now; /* demands of before have had theirs */
}

} // namespace fuselink
