/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "near_slots.h"

#include "direct_nics.h"

#include <algorithm>

namespace fuselink {
namespace {

/* A lender whose slots others have, or to which a copy failed, is not counted on for so
 * long. */
constexpr sched::Nanos kRest = sched::Nanos::millis(10), kBroken = sched::Nanos::seconds(1);

} // namespace

void NearSlots::look()
{
    lenders_.look(host_.now());
    for (const auto &lender : lenders_.list()) {
        place(*lender);
    }
}

/* Where its GPU is, and, when its slots are there, what of them is seen from here. */
void NearSlots::place(Lender &lender)
{
    if (!lender.placed) {
        lender.placed = true;
        GpuContext::Uuid gpu;
        std::copy_n(lender.offer.gpu, gpu.size(), gpu.begin());
        lender.nics = direct_nics(nvlinks_, gpu, nics_);
    }
    if (!lender.tried && lender.ready() && lender.nics != 0) {
        lender.tried  = true;
        lender.mapped = MappedSlots::map(lender.offer, nics_, lender.nics);
        ucs_debug("fuselink: NICs %x read slots of process %d's GPU%s", lender.nics,
                  ProcessId(lender.offer.process).pid(),
                  lender.mapped ? "" : " not: they cannot be mapped");
    }
}

Lender *NearSlots::lender_for(unsigned nic)
{
    const sched::Nanos now  = host_.now();
    Lender            *best = nullptr;
    for (const auto &lender : lenders_.list()) {
        if (lender->ready() && lender->full_until <= now && (best == nullptr || lender->in_use < best->in_use) &&
            lenders_.spares(*lender, now) && handle(*lender, nic) != nullptr) {
            best = lender.get();
        }
    }
    return best;
}

void NearSlots::demand(unsigned nic)
{
    for (const auto &lender : lenders_.list()) {
        if ((lender->nics >> nic & 1) != 0) {
            lenders_.demand(*lender, host_.now());
        }
    }
}

NearSlots::Slot NearSlots::take(Lender &lender)
{
    const auto handle = lenders_.take(lender, host_.now());
    if (!handle) {
        if (lender.in_use == 0) {
            lender.full_until = host_.now() + kRest;
        }
        return {};
    }
    return {&lender, *handle,
            lender.mapped->memory() + size_t{handle->slot} * lender.offer.slot_size};
}

ucs_status_t NearSlots::fill(const Slot &slot, const void *gpu, size_t length,
                             uct_completion_t *comp)
{
    return hop(slot, true, const_cast<void *>(gpu), length, comp);
}

ucs_status_t NearSlots::drain(const Slot &slot, void *gpu, size_t length, uct_completion_t *comp)
{
    return hop(slot, false, gpu, length, comp);
}

ucs_status_t NearSlots::hop(const Slot &slot, bool out, void *gpu, size_t length,
                            uct_completion_t *comp)
{
    const ucs_status_t status = lenders_.hop(out, *slot.lender, slot.handle, gpu, length, comp);
    if (status == UCS_INPROGRESS) {
        ++copying_;
    } else {
        note(*slot.lender, out, length, status);
    }
    return status;
}

void NearSlots::ended(Lender &lender, bool out, size_t length, ucs_status_t status)
{
    --copying_;
    note(lender, out, length, status);
}

void NearSlots::note(Lender &lender, bool out, size_t length, ucs_status_t status)
{
    if (status == UCS_OK) {
        (out ? traffic_.sent : traffic_.received).add(length);
        lenders_.registry().count_by_nics(lender.entry, out, length);
    } else {
        lender.full_until = host_.now() + kBroken;
        ucs_debug("fuselink: a copy %s the GPU of process %d: %s", out ? "to" : "from",
                  ProcessId(lender.offer.process).pid(), ucs_status_string(status));
    }
}

unsigned NearSlots::progress()
{
    return copying_ != 0 ? lenders_.progress() : 0;
}

} // namespace fuselink
