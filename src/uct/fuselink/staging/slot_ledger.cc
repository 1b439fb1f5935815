/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "slot_ledger.h"

#include <algorithm>

namespace fuselink {

SlotLedger::SlotLedger(uint32_t slots) : entries_(slots)
{
    for (uint32_t i = slots; i > 0; --i) {
        free_.push_back(i - 1);
    }
}

uint32_t SlotLedger::lent(Borrower who) const
{
    auto it = lent_.find(who);
    return it == lent_.end() ? 0 : it->second;
}

std::optional<uint32_t> SlotLedger::take()
{
    if (free_.empty()) {
        return {};
    }
    uint32_t slot = free_.back();
    free_.pop_back();
    entries_[slot].state = State::Own;
    return slot;
}

void SlotLedger::give(uint32_t slot)
{
    if (entries_[slot].held != 0) {
        entries_[slot].state = State::Given;
    } else {
        release(slot);
    }
}

void SlotLedger::let_go(uint32_t slot)
{
    Entry &entry = entries_[slot];
    if (--entry.held == 0 && entry.state == State::Given) {
        release(slot);
    }
}

uint32_t SlotLedger::share() const
{
    if (closed_) {
        return 0;
    }
    auto borrowers = static_cast<uint32_t>(std::max<size_t>(lent_.size(), 1));
    return std::max<uint32_t>(lendable() / borrowers, 1);
}

std::vector<SlotCredit> SlotLedger::lend(Borrower who, uint32_t want)
{
    std::vector<SlotCredit> loans;
    if (want == 0 || closed_) {
        return loans;
    }
    uint32_t &count = lent_[who]; /* first: it has a share from now on */
    want            = std::min(want, share());
    uint32_t all    = 0;
    for (const auto &[other, slots] : lent_) {
        all += slots;
    }
    for (; count < want && all < lendable() && !free_.empty();
         ++count, ++all) {
        uint32_t slot = free_.back();
        free_.pop_back();
        Entry &entry = entries_[slot];
        entry.state  = State::Lent;
        entry.who    = who;
        loans.push_back({slot, ++entry.turn});
    }
    return loans;
}

std::vector<SlotLedger::Borrower> SlotLedger::over_quota() const
{
    std::vector<Borrower> who;
    for (const auto &[borrower, slots] : lent_) {
        if (slots > share()) {
            who.push_back(borrower);
        }
    }
    return who;
}

SlotLedger::Entry *SlotLedger::find(Borrower who, const SlotCredit &loan)
{
    if (loan.slot >= entries_.size()) {
        return nullptr;
    }
    Entry &entry = entries_[loan.slot];
    return entry.state == State::Lent && entry.who == who &&
                   entry.turn == loan.turn ?
               &entry : nullptr;
}

bool SlotLedger::fill(Borrower who, const SlotCredit &loan)
{
    Entry *entry = find(who, loan);
    if (entry == nullptr) {
        return false;
    }
    entry->state = State::Full;
    return true;
}

bool SlotLedger::empty(uint32_t slot)
{
    Entry &entry = entries_[slot];
    if (entry.state != State::Full) {
        return false; /* lost meanwhile */
    }
    if (lent(entry.who) == 0 || lent(entry.who) > share()) {
        release(slot);
        return false;
    }
    entry.state = State::Lent;
    ++entry.turn;
    return true;
}

bool SlotLedger::give_back(Borrower who, const SlotCredit &loan)
{
    if (find(who, loan) == nullptr) {
        return false;
    }
    release(loan.slot);
    return true;
}

/* To nobody. */
void SlotLedger::release(uint32_t slot)
{
    Entry &entry = entries_[slot];
    auto   it    = lent_.find(entry.who);
    if (it != lent_.end() && --it->second == 0) {
        lent_.erase(it);
    }
    entry.state = State::Free;
    entry.who   = 0;
    free_.push_back(slot);
}

void SlotLedger::forget(Borrower who, bool may_write)
{
    for (uint32_t slot = 0; slot < size(); ++slot) {
        Entry &entry = entries_[slot];
        if (entry.who != who) {
            continue;
        }
        if (may_write) {
            entry.state = State::Lost;
            entry.who   = 0;
            ++lost_;
        } else if (entry.state == State::Lent) {
            release(slot);
        }
    }
    lent_.erase(who); /* full ones follow when they are emptied */
}

} // namespace fuselink
