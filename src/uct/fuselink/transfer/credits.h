/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TRANSFER_CREDITS_H
#define FUSELINK_TRANSFER_CREDITS_H

#include "../hop/slot_ledger.h"

#include <algorithm>
#include <vector>

namespace fuselink {

/**
 * The slots that a peer has lent us: each may be filled once, and again when the
 * peer has said that it is empty. The other side of SlotLedger.
 *
 * What the peer says may be hostile. Accounting alone; one thread at a time.
 */
class Credits {
public:
    /** More than any pool has. */
    static constexpr uint32_t kMostSlots = 1 << 16;

    /** Slots that are ours, filled ones too. */
    size_t held() const { return held_; }
    /** Those that can be filled now. */
    size_t free() const { return free_.size(); }

    /** The peer lends a slot. False if it did already, or there is none of
     *  that number. */
    bool add(const SlotLoan &loan)
    {
        if (loan.slot >= kMostSlots) {
            return false;
        }
        if (loan.slot >= ours_.size()) {
            ours_.resize(loan.slot + 1);
        }
        if (ours_[loan.slot]) {
            return false;
        }
        ours_[loan.slot] = true;
        ++held_;
        free_.push_back(loan);
        return true;
    }

    /** A slot to fill; only if free() != 0. */
    SlotLoan take()
    {
        SlotLoan loan = free_.back();
        free_.pop_back();
        return loan;
    }
    /** It was not filled. */
    void untake(const SlotLoan &loan) { free_.push_back(loan); }

    /** The peer has emptied what we filled; `kept`: we may fill it again. */
    void emptied(const SlotLoan &loan, bool kept)
    {
        if (kept) {
            free_.push_back({loan.slot, loan.turn + 1});
        } else {
            lose(loan);
        }
    }

    /** Slots to give back, so that we have not more than `keep`, as far as
     *  that goes without those that are filled. */
    std::vector<SlotLoan> shrink(size_t keep)
    {
        std::vector<SlotLoan> back;
        while (held_ > keep && !free_.empty()) {
            back.push_back(take());
            lose(back.back());
        }
        return back;
    }

private:
    void lose(const SlotLoan &loan)
    {
        ours_[loan.slot] = false;
        --held_;
    }

    size_t                held_ = 0;
    std::vector<SlotLoan> free_;
    std::vector<bool>     ours_; /* by slot */
};

} // namespace fuselink

#endif
