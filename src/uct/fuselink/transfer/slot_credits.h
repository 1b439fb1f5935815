/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TRANSFER_SLOT_CREDITS_H
#define FUSELINK_TRANSFER_SLOT_CREDITS_H

#include "../staging/slot_ledger.h"
#include "../memory/region_table.h"
#include "../wire/messages.h"

#include <vector>

namespace fuselink {

/**
 * The slots that a peer has lent us, each of which is the credit to fill it once,
 * and again when the peer has said that it is empty. The other side of SlotLedger.
 *
 * What the peer says may be hostile: a grant that nobody asked for, or of slots
 * elsewhere than the first ones, changes nothing. A peer that lies about where its
 * slots are loses its own memory or its own data, as its NICs' keys have it.
 *
 * Invariant: free() <= held(), and the others are filled, or being so. Accounting
 * alone; one thread at a time.
 */
class SlotCredits {
public:
    /** More than any pool has. */
    static constexpr uint32_t kMostSlots = 1 << 16;
    /** A slot that the peer may mean, bytes: not too small to be worth it. */
    static constexpr uint32_t kLeastSlot = 4096;

    /** What a grant has brought. */
    enum class Grant : uint8_t {
        Unasked, /* or no grant at all: nothing has changed */
        Empty,   /* the peer lends nothing now */
        Bad,     /* slots that cannot be */
        Taken
    };

    /** The peer may be asked for slots, of which we want `want` in all. */
    bool may_ask(size_t want) const { return !asked_ && held_ < want; }
    /** It is asked: one grant is taken. */
    void ask() { asked_ = true; }

    /** A message of type SlotGrant, untrusted. Calls twice(slot) for each slot
     *  that is ours already or that no pool has, which changes nothing. */
    template <typename Twice>
    Grant take_grant(const void *data, size_t length, Twice &&twice)
    {
        wire::SlotGrant grant;
        if (!wire::parse(data, length, grant) || !asked_) {
            return Grant::Unasked;
        }
        asked_ = false;
        if (grant.count == 0) {
            return Grant::Empty;
        }
        const RegionKey region{grant.region_id, grant.region_key};
        if (grant.size < kLeastSlot ||
            (size_ != 0 &&
             (grant.base != base_ || grant.size != size_ || region != region_))) {
            return Grant::Bad;
        }
        base_   = grant.base;
        size_   = grant.size;
        region_ = region;
        keep_   = SIZE_MAX;
        wire::for_names(grant, data, length, [&](const wire::SlotName &name) {
            if (!add({name.slot, name.turn})) {
                twice(name.slot);
            }
        });
        return Grant::Taken;
    }

    /** The peer wants all back but so many; until the next grant. */
    void recall(size_t keep) { keep_ = keep; }
    /** Credits to give back by that, as far as it goes without those that are
     *  in use. */
    std::vector<SlotCredit> take_surplus() { return shrink(keep_); }

    /** Size of each slot, bytes; 0: there were none yet. */
    size_t           size() const { return size_; }
    /** Where the peer has this one. */
    uint64_t         address(const SlotCredit &loan) const
    {
        return base_ + static_cast<uint64_t>(loan.slot) * size_;
    }
    /** All of them, for NICs' keys. */
    const RegionKey &region() const { return region_; }

    /** Slots that are ours, filled ones too. */
    size_t held() const { return held_; }
    /** Those that can be filled now. */
    size_t free() const { return free_.size(); }

    /** The peer lends a slot. False if it did already, or there is none of
     *  that number. */
    bool add(const SlotCredit &loan)
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
    SlotCredit take()
    {
        SlotCredit loan = free_.back();
        free_.pop_back();
        return loan;
    }
    /** It was not filled. */
    void untake(const SlotCredit &loan) { free_.push_back(loan); }

    /** The peer has emptied what we filled; `kept`: we may fill it again. */
    void emptied(const SlotCredit &loan, bool kept)
    {
        if (kept) {
            free_.push_back({loan.slot, loan.turn + 1});
        } else {
            lose(loan);
        }
    }

    /** Slots to give back, so that we have not more than `keep`, as far as
     *  that goes without those that are filled. */
    std::vector<SlotCredit> shrink(size_t keep)
    {
        std::vector<SlotCredit> back;
        while (held_ > keep && !free_.empty()) {
            back.push_back(take());
            lose(back.back());
        }
        return back;
    }

private:
    void lose(const SlotCredit &loan)
    {
        ours_[loan.slot] = false;
        --held_;
    }

    size_t                held_ = 0;
    std::vector<SlotCredit> free_;
    std::vector<bool>     ours_; /* by slot */
    uint64_t              base_ = 0;
    size_t                size_ = 0;
    RegionKey             region_;
    bool                  asked_ = false;
    size_t                keep_  = SIZE_MAX; /* no more */
};

} // namespace fuselink

#endif
