/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_STAGING_SLOT_LEDGER_H
#define FUSELINK_STAGING_SLOT_LEDGER_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

namespace fuselink {

/** The right to fill a slot once. The turn counts up each time the slot is lent
 *  or filled, so that a late or invented word about it fits nothing. */
struct SlotCredit {
    uint32_t slot;
    uint32_t turn;
};

/**
 * Who has which of the slots of a pool: this process, or somebody far away to
 * whom it is lent to write to. Accounting alone, no memory.
 *
 * What borrowers say may be hostile. One thread at a time.
 */
class SlotLedger {
public:
    using Borrower = uint32_t; /* never 0 */

    explicit SlotLedger(uint32_t slots);

    uint32_t size() const { return static_cast<uint32_t>(entries_.size()); }
    uint32_t free() const { return static_cast<uint32_t>(free_.size()); }
    uint32_t lent(Borrower who) const;

    /** A slot for this process itself; none if all are taken. */
    std::optional<uint32_t> take();
    /** The end of take(). A slot that is held is free later. */
    void give(uint32_t slot);
    /** Of one that was taken: somebody else may still write to it, until
     *  let_go(). Nests. */
    void hold(uint32_t slot) { ++entries_[slot].held; }
    void let_go(uint32_t slot);

    /** Lends until `who` has `want` slots, or its share of the pool, or there
     *  are no more. Returns what was added. */
    std::vector<SlotCredit> lend(Borrower who, uint32_t want);
    /** What each borrower may have when so many share: half of what is left of
     *  the pool is lent at most, the rest is for those who have borrowed
     *  nothing. */
    uint32_t share() const;
    /** Borrowers that have more than that. */
    std::vector<Borrower> over_quota() const;
    /** From now on nothing is lent, and nobody's share is anything. */
    void close() { closed_ = true; }
    bool closed() const { return closed_; }

    /** `who` says that it has filled the slot. False if it must not. */
    [[nodiscard]] bool fill(Borrower who, const SlotCredit &loan);
    /** What was in the slot has been taken out. True if its borrower keeps it,
     *  for the next turn. */
    bool empty(uint32_t slot);
    /** `who` does not want the slot any more. False if it has not got it. */
    [[nodiscard]] bool give_back(Borrower who, const SlotCredit &loan);

    /** `who` is gone. If it may still write, its slots are lost: never used
     *  again. They no longer count as part of the pool, half of which is lent,
     *  so whoever loses slots, and however often, one at least is left. */
    void forget(Borrower who, bool may_write);
    uint32_t lost() const { return lost_; }

private:
    /* Given: but held. Lost: for good. */
    enum class State : uint8_t { Free, Own, Given, Lent, Full, Lost };
    struct Entry {
        State    state = State::Free;
        uint8_t  held  = 0;
        Borrower who   = 0;
        uint32_t turn  = 0;
    };

    Entry   *find(Borrower who, const SlotCredit &loan);
    uint32_t lendable() const { return (size() - lost_) / 2; }
    void     release(uint32_t slot);

    std::vector<Entry>                     entries_;
    std::vector<uint32_t>                  free_;
    uint32_t                               lost_   = 0;
    bool                                   closed_ = false;
    std::unordered_map<Borrower, uint32_t> lent_; /* how many; 0: it asked */
};

} // namespace fuselink

#endif
