/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_STAGING_SLOTS_H
#define FUSELINK_STAGING_SLOTS_H

#include "../memory/region.h"
#include "../rail/uct_objects.h"
#include "slot_ledger.h"

#include <memory>

namespace fuselink {

/**
 * Memory of the host that bulk data of GPUs waits in between a copy and a NIC,
 * for one direction: slots of one size, pinned once for the GPU, and for each NIC
 * when that NIC first needs it. Never more than the bytes given; none until the
 * first is taken or lent. One thread at a time (the worker's).
 */
class Slots {
public:
    /** `md` is what pins memory for the GPU. `bytes` has room for one. They are
     *  at `memory`, if that is given, which is the caller's. */
    Slots(UctMd &md, NicMemory &nics, RegionTable &regions, size_t slot,
          size_t bytes, char *memory = nullptr);
    ~Slots();
    Slots(const Slots &)            = delete;
    Slots &operator=(const Slots &) = delete;

    /** Size of a slot, bytes. */
    size_t size() const { return size_; }
    char  *at(uint32_t slot) const { return memory_ + slot * size_; }

    /** A slot for this process; nullptr if none is left. */
    char *take();
    void  give(char *slot) { ledger_.give(number(slot)); }

    /** A slot that somebody else may still write to, now that it is of no use
     *  to him; not free before let_go(). Nests. */
    void hold(const char *slot) { ledger_.hold(number(slot)); }
    void let_go(const char *slot) { ledger_.let_go(number(slot)); }
    /** Where to ask for slots that are held before there are none left. */
    void set_reclaim(void (*reclaim)(void *arg), void *arg)
    {
        reclaim_     = reclaim;
        reclaim_arg_ = arg;
    }

    /** Who has which. Lend only if ready(). */
    SlotLedger &ledger() { return ledger_; }
    /** There is memory. */
    bool        ready() { return memory_ != nullptr || allocate(); }

    /** All slots, as NICs know memory; only if ready(). By the region's key
     *  peers can ask for NICs' keys, and for nothing else. */
    Region &region() { return *region_; }

private:
    bool     allocate();
    uint32_t number(const char *slot) const
    {
        return static_cast<uint32_t>(static_cast<size_t>(slot - memory_) /
                                     size_);
    }

    UctMd                  &md_;
    NicMemory              &nics_;
    RegionTable            &regions_;
    size_t                  size_;
    SlotLedger              ledger_;
    bool                    failed_ = false;
    char                   *memory_ = nullptr;
    char                   *given_;
    uct_mem_h               pinned_ = nullptr;
    std::unique_ptr<Region> region_;
    void                  (*reclaim_)(void *arg) = nullptr;
    void                   *reclaim_arg_ = nullptr;
};

} // namespace fuselink

#endif
