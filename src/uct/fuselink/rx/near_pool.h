/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_RX_NEAR_POOL_H
#define FUSELINK_RX_NEAR_POOL_H

#include "../host/host.h"
#include "../memory/region_table.h"
#include "../relay/near_slots.h"
#include "../staging/slot_ledger.h"
#include "../wire/messages.h"

#include <array>
#include <vector>

namespace fuselink {

/**
 * Slots in memory of one other GPU that peers may fill: their NICs put data there by the NIC
 * beside that GPU, and cuda_ipc copies it on to this process's own. A slot is borrowed twice:
 * by this process of the lender, and by a peer of this process. What no peer has goes back to
 * the lender at once.
 *
 * It lives as long as it has a slot of the lender's, who is known for as long. One thread at a
 * time (the worker's).
 */
class NearPool {
public:
    /** `near` and `regions` outlive it; the lender's slots are mapped. */
    NearPool(const Host &host, NearSlots &near, Lender &lender, RegionTable &regions);
    /** NICs' keys open nothing more. What is lent yet stays the lender's loss until this
     *  process leaves the registry, when no NIC of its knows that memory any more. */
    ~NearPool();
    NearPool(const NearPool &)            = delete;
    NearPool &operator=(const NearPool &) = delete;

    /** By which peers name it: never that of the host's slots. */
    static uint32_t number_of(const Lender &lender) { return lender.entry + 1; }
    static_assert(RelayRegistry::kEntries + 1 <= wire::kSlotPools);
    uint32_t        number() const { return number_of(lender_); }
    const Lender   &lender() const { return lender_; }
    /** Size of a slot, bytes. */
    size_t           size() const { return lender_.offer.slot_size; }
    char            *at(uint32_t slot) const { return lender_.mapped->memory() + slot * size(); }
    /** All of them, for NICs' keys. */
    const RegionKey &key() const { return key_; }

    /** Who has which. */
    SlotLedger &ledger() { return ledger_; }
    /** As the ledger's, of slots which the lender has free; then give_surplus(). */
    std::vector<SlotCredit> lend(SlotLedger::Borrower who, uint32_t want);
    /** `who` says that it has filled a slot. False if it must not. */
    [[nodiscard]] bool fill(SlotLedger::Borrower who, const SlotCredit &loan);
    /** When that was last so, or it began. */
    sched::Nanos       filled_at() const { return filled_at_; }
    /** Gives the lender back what no peer has. True if that was the last. */
    bool give_surplus();
    /** Its slots are in use: the lender keeps them. */
    void keep(sched::Nanos now) { near_.keep(lender_, now); }

    /** Copies what is in a slot to this process's GPU: UCS_INPROGRESS if the completion tells,
     *  and then drained() is to be called. */
    ucs_status_t drain(uint32_t slot, void *gpu, size_t length, uct_completion_t *comp);
    void         drained(size_t length, ucs_status_t status);

private:
    const Host                                        &host_;
    NearSlots                                         &near_;
    Lender                                            &lender_;
    RegionTable                                       &regions_;
    RegionKey                                          key_;
    SlotLedger                                         ledger_;  /* "own": not of ours now */
    std::array<NearSlots::Slot, RelayRegistry::kSlots> slots_{}; /* those that are */
    sched::Nanos                                       filled_at_;
};

} // namespace fuselink

#endif
