/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "near_pools.h"

#include "slot_recall.h"

#include <algorithm>

namespace fuselink {
namespace {

/* Slots that nothing was put into for so long are of more use to others. */
constexpr sched::Nanos kIdle = sched::Nanos::millis(500);

} // namespace

NearPool *NearPools::pool_for(unsigned nic, SlotLedger::Borrower who)
{
    NearSlots *near = copies_.near();
    if (near == nullptr) {
        return nullptr;
    }
    near->look();
    Lender *lender = near->lender_for(nic);
    if (lender == nullptr) {
        near->demand(nic);
        return nullptr;
    }
    NearPool *pool = find(NearPool::number_of(*lender));
    if (pool == nullptr) {
        pools_.push_back(std::make_unique<NearPool>(host_, *near, *lender, regions_));
        pool = pools_.back().get();
    }
    return pool->ledger().closed() || pool->ledger().lent(who) != 0 ? nullptr : pool;
}

NearPool *NearPools::find(uint32_t number) const
{
    auto it = std::find_if(pools_.begin(), pools_.end(), [&](const auto &pool) {
        return pool->number() == number;
    });
    return it != pools_.end() ? it->get() : nullptr;
}

void NearPools::settle(NearPool &pool)
{
    if (pool.give_surplus()) {
        std::erase_if(pools_, [&](const auto &one) { return one.get() == &pool; });
    }
}

bool NearPools::is_over(const NearPool &pool, sched::Nanos now) const
{
    return now - pool.filled_at() > kIdle || !copies_.near()->lends(pool.lender(), now);
}

/* A connection may fail by what it is sent: its slots come back, and pools may end. */
void NearPools::look(sched::Nanos now)
{
    copies_.near()->look(); /* this process is there yet, for the others */
    std::vector<uint32_t> over;
    for (const auto &pool : pools_) {
        if (pool->ledger().closed()) {
            continue;
        }
        if (is_over(*pool, now)) {
            over.push_back(pool->number());
        } else {
            pool->keep(now);
        }
    }
    for (uint32_t number : over) {
        NearPool *pool = find(number);
        if (pool != nullptr) {
            pool->ledger().close();
            recall_slots(pool->ledger(), number, peers_);
        }
    }
}

} // namespace fuselink
