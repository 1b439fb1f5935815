/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/*
 * Both ends of the lending of slots against each other, with words under way
 * between them that take any time, peers that die, and strangers: no slot is with
 * two, not more is lent than may be, and both ends agree.
 *
 * The input is the size of the pool and then operations of three bytes: which
 * one, who, a number.
 */

#include "staging/slot_ledger.h"
#include "script.h"
#include "transfer/slot_credits.h"

#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <vector>

using namespace fuselink;

namespace {

constexpr uint32_t kSides = 4;

/* Where a slot is, as the test knows it. */
struct Place {
    enum { Free, Own, Lent, Full, FullOfTheDead, Lost } at = Free;
    uint32_t side = 0;
};

struct ToBorrower { /* in order */
    enum { Grant, Recall, Emptied } kind;
    SlotCredit loan;
    bool     kept;
    uint32_t keep;
};

struct ToOwner { /* by any path, in any order */
    bool     back;
    SlotCredit loan;
};

struct Side {
    uint32_t               id = 0;
    SlotCredits            credits;
    std::deque<ToBorrower> in;
    std::vector<ToOwner>   out;
};

class Run {
public:
    explicit Run(uint32_t slots) : ledger_(slots), places_(slots)
    {
        for (Side &side : sides_) {
            side.id = next_id_++;
        }
    }

    void step(uint8_t what, uint8_t who, uint8_t number)
    {
        const uint32_t index = who % kSides;
        switch (what % 11) {
        case 0:
            lend(index, number);
            break;
        case 1:
            hear(index);
            break;
        case 2:
            fill(sides_[index]);
            break;
        case 3: { /* a path that has broken gives its slot back unfilled */
            SlotCredits &credits = sides_[index].credits;
            if (credits.free() != 0) {
                credits.untake(credits.take());
            }
            break;
        }
        case 4:
            tell(index, number);
            break;
        case 5:
            empty(number);
            break;
        case 6:
            recall();
            break;
        case 7:
            forget(index, number % 2 != 0);
            break;
        case 8:
            if (auto slot = ledger_.take()) {
                require(places_[*slot].at == Place::Free);
                places_[*slot].at = Place::Own;
            }
            break;
        case 9:
            give(number);
            break;
        case 10:
            lie(index, number);
            break;
        }
        check();
    }

private:
    void lend(uint32_t index, uint32_t want)
    {
        Side &side = sides_[index];
        for (const SlotCredit &loan : ledger_.lend(side.id, want)) {
            Place &place = places_[loan.slot];
            require(place.at == Place::Free);
            place = {Place::Lent, index};
            side.in.push_back({ToBorrower::Grant, loan, false, 0});
        }
    }

    void hear(uint32_t index)
    {
        Side &side = sides_[index];
        if (side.in.empty()) {
            return;
        }
        ToBorrower word = side.in.front();
        side.in.pop_front();
        switch (word.kind) {
        case ToBorrower::Grant:
            require(side.credits.add(word.loan));
            break;
        case ToBorrower::Emptied:
            side.credits.emptied(word.loan, word.kept);
            break;
        case ToBorrower::Recall:
            for (const SlotCredit &loan : side.credits.shrink(word.keep)) {
                side.out.push_back({true, loan});
            }
            break;
        }
    }

    void fill(Side &side)
    {
        if (side.credits.free() != 0) {
            side.out.push_back({false, side.credits.take()});
        }
    }

    void tell(uint32_t index, size_t number)
    {
        Side &side = sides_[index];
        if (side.out.empty()) {
            return;
        }
        auto    at   = side.out.begin() +
                  static_cast<ptrdiff_t>(number % side.out.size());
        ToOwner word = *at;
        side.out.erase(at);
        Place &place = places_[word.loan.slot];
        require(place.at == Place::Lent && place.side == index);
        if (word.back) {
            require(ledger_.give_back(side.id, word.loan));
            place.at = Place::Free;
        } else {
            require(ledger_.fill(side.id, word.loan));
            place.at = Place::Full;
            full_.push_back({side.id, word.loan});
        }
        /* Said twice. */
        require(!ledger_.fill(side.id, word.loan));
        require(!ledger_.give_back(side.id, word.loan));
    }

    void empty(size_t number)
    {
        if (full_.empty()) {
            return;
        }
        auto at          = full_.begin() +
                  static_cast<ptrdiff_t>(number % full_.size());
        auto [id, loan]  = *at;
        full_.erase(at);
        Place     &place = places_[loan.slot];
        const bool kept  = ledger_.empty(loan.slot);
        if (place.at == Place::Lost || place.at == Place::FullOfTheDead) {
            require(!kept);
            place.at = place.at == Place::Lost ? Place::Lost : Place::Free;
            return;
        }
        require(place.at == Place::Full && sides_[place.side].id == id);
        place.at = kept ? Place::Lent : Place::Free;
        sides_[place.side].in.push_back({ToBorrower::Emptied, loan, kept, 0});
    }

    void recall()
    {
        for (uint32_t id : ledger_.over_quota()) {
            auto side = std::find_if(sides_.begin(), sides_.end(),
                                     [&](const Side &one) {
                                         return one.id == id;
                                     });
            require(side != sides_.end());
            side->in.push_back({ToBorrower::Recall, {}, false,
                                ledger_.share()});
        }
    }

    /* What it had said is lost with it; another comes in its place. */
    void forget(uint32_t index, bool may_write)
    {
        ledger_.forget(sides_[index].id, may_write);
        for (Place &place : places_) {
            if (place.side != index ||
                (place.at != Place::Lent && place.at != Place::Full)) {
                continue;
            }
            place.at = may_write ? Place::Lost :
                       place.at == Place::Full ? Place::FullOfTheDead :
                                                 Place::Free;
        }
        sides_[index]    = Side();
        sides_[index].id = next_id_++;
    }

    void give(size_t number)
    {
        for (size_t i = 0; i < places_.size(); ++i) {
            const size_t slot = (i + number) % places_.size();
            if (places_[slot].at == Place::Own) {
                ledger_.give(static_cast<uint32_t>(slot));
                places_[slot].at = Place::Free;
                return;
            }
        }
    }

    /* Of a slot that is another's, or of a turn that is over or to come. */
    void lie(uint32_t index, uint32_t number)
    {
        const uint32_t id   = sides_[index].id;
        const uint32_t slot = number % 2 ? number : number % ledger_.size();
        if (slot < ledger_.size() && places_[slot].side == index &&
            places_[slot].at == Place::Lent) {
            return; /* it may be true */
        }
        for (uint32_t turn = 0; turn < 4; ++turn) {
            require(!ledger_.fill(id, {slot, turn}));
            require(!ledger_.give_back(id, {slot, turn}));
        }
        require(!ledger_.fill(0, {slot, 0}));
        require(!ledger_.give_back(0, {slot, 0}));
    }

    void check() const
    {
        uint32_t free = 0, lost = 0, lent = 0;
        std::array<uint32_t, kSides> of{};
        for (const Place &place : places_) {
            free += place.at == Place::Free;
            lost += place.at == Place::Lost;
            if (place.at == Place::Lent || place.at == Place::Full) {
                ++of[place.side];
                ++lent;
            }
        }
        require(ledger_.free() == free);
        require(ledger_.lost() == lost);
        require(lost < ledger_.size());
        require(lent <= (ledger_.size() - lost) / 2);
        for (uint32_t i = 0; i < kSides; ++i) {
            const Side &side = sides_[i];
            require(ledger_.lent(side.id) == of[i]);
            size_t held = side.credits.held();
            for (const ToBorrower &word : side.in) {
                held += word.kind == ToBorrower::Grant;
                held -= word.kind == ToBorrower::Emptied && !word.kept;
            }
            for (const ToOwner &word : side.out) {
                held += word.back;
            }
            require(held == of[i]);
        }
    }

    SlotLedger                                ledger_;
    std::vector<Place>                        places_;
    std::array<Side, kSides>                  sides_;
    std::vector<std::pair<uint32_t, SlotCredit>> full_;
    uint32_t                                  next_id_ = 1;
};

/* Grants of a peer that grants what it likes. */
void believe(const uint8_t *data, size_t size)
{
    SlotCredits           credits;
    std::vector<SlotCredit> filled;
    for (; size >= 3; data += 3, size -= 3) {
        const uint32_t slot = data[1] | uint32_t{data[2]} << 12;
        switch (data[0] % 4) {
        case 0:
            if (credits.add({slot, data[0]})) {
                require(slot < SlotCredits::kMostSlots);
            }
            break;
        case 1:
            if (credits.free() != 0) {
                filled.push_back(credits.take());
            }
            break;
        case 2:
            if (!filled.empty()) {
                credits.emptied(filled.back(), data[1] % 2 != 0);
                filled.pop_back();
            }
            break;
        case 3:
            credits.shrink(data[1]);
            break;
        }
        require(credits.held() == credits.free() + filled.size());
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    Run run(1 + data[0] % 40);
    for (size_t i = 1; i + 3 <= size; i += 3) {
        run.step(data[i], data[i + 1], data[i + 2]);
    }
    believe(data + 1, size - 1);
    return 0;
}
