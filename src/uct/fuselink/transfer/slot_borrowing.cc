/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "slot_borrowing.h"

#include "../wire/messages.h"
#include "transfer_memory.h"

#include <algorithm>
#include <vector>

namespace fuselink {
namespace {

/* So many for each path: a chunk on its way, one that is copied to the GPU, and
 * what tells of either. */
constexpr size_t kSlotsPerPath = 8;

} // namespace

uint32_t SlotBorrowing::pool_for(const Path &path)
{
    uint32_t best = wire::kHostPool;
    for (uint32_t pool = 1; ucs_unlikely(pool < pools_.size()); ++pool) {
        const SlotCredits &credits = pools_[pool].credits;
        if (credits.held() == 0 || !path.rail.reads() ||
            key(path, pool) == UCT_INVALID_RKEY) {
            continue;
        }
        if (credits.free() != 0) {
            return pool;
        }
        best = pool;
    }
    return best;
}

void SlotBorrowing::ask(size_t paths)
{
    SlotCredits &credits = pools_[wire::kHostPool].credits;
    const size_t want    = paths * kSlotsPerPath;
    if (paths == 0 || !credits.may_ask(want)) {
        return;
    }
    credits.ask();
    wire::SlotAsk ask{};
    ask.header.type = static_cast<uint8_t>(wire::ControlType::SlotAsk);
    ask.want        = static_cast<uint32_t>(want);
    connection_.send_control(&ask, sizeof(ask));
}

/* Of GPUs, which are lent unasked, and are others when all have gone back. False if there is no
 * such pool. */
bool SlotBorrowing::bring_forth(uint32_t pool)
{
    if (pool >= wire::kSlotPools) {
        return false;
    }
    if (pool >= pools_.size()) {
        pools_.resize(pool + 1);
    }
    if (pool != wire::kHostPool) {
        if (pools_[pool].credits.held() == 0) {
            pools_[pool] = {};
        }
        pools_[pool].credits.ask();
    }
    return true;
}

bool SlotBorrowing::on_grant(const void *data, size_t length)
{
    wire::SlotGrant grant;
    if (!wire::parse(data, length, grant) || !bring_forth(grant.pool)) {
        return false;
    }
    auto twice = [this](uint32_t slot) {
        ucs_debug("fuselink: peer %016lx lends slot %u twice",
                  connection_.uuid(), slot);
    };
    Pool &pool = pools_[grant.pool];
    switch (pool.credits.take_grant(data, length, twice)) {
    case SlotCredits::Grant::Taken:
        if (!pool.nic_keys) {
            pool.nic_keys = std::make_shared<NicKeys>();
        }
        if (grant.pool != wire::kHostPool) { /* which NIC reaches it shows by its key */
            keys_.request_keys(pool.credits.region(), pool.nic_keys);
        }
        return true;
    case SlotCredits::Grant::Bad:
        ucs_debug("fuselink: slots of peer %016lx that cannot be",
                  connection_.uuid());
        return false;
    case SlotCredits::Grant::Unasked:
    case SlotCredits::Grant::Empty:
        return false;
    }
    return false;
}

void SlotBorrowing::on_recall(const void *data, size_t length)
{
    wire::SlotRecall recall;
    if (!wire::parse(data, length, recall) || recall.pool >= pools_.size()) {
        return;
    }
    pools_[recall.pool].credits.recall(recall.keep);
    give_back(recall.pool);
}

void SlotBorrowing::give_back()
{
    for (uint32_t pool = 0; pool < pools_.size(); ++pool) {
        give_back(pool);
    }
}

void SlotBorrowing::give_back(uint32_t pool)
{
    std::vector<wire::SlotName> names;
    for (const SlotCredit &loan : pools_[pool].credits.take_surplus()) {
        names.push_back({loan.slot, loan.turn});
    }
    constexpr size_t kMost = 64; /* in a message that fits any rail */
    for (size_t at = 0; at < names.size(); at += kMost) {
        const size_t   count = std::min(kMost, names.size() - at);
        wire::SlotBack back{};
        back.header.type = static_cast<uint8_t>(wire::ControlType::SlotBack);
        back.count       = static_cast<uint32_t>(count);
        back.pool        = pool;
        connection_.send_control(&back, sizeof(back), &names[at],
                                 count * sizeof(names[0]));
    }
}

void SlotBorrowing::request_key(const Path &path, uint32_t pool)
{
    const unsigned slot = path.remote.memory;
    const auto    &keys = pools_[pool].nic_keys;
    if (slot < wire::kMaxRails && keys->state(slot) == NicKeys::State::Unknown) {
        keys_.request_keys(pools_[pool].credits.region(), keys);
    }
}

bool SlotBorrowing::awaits_key(const Path &path) const
{
    for (uint32_t pool = 1; ucs_unlikely(pool < pools_.size()); ++pool) {
        if (pools_[pool].credits.held() != 0 && path.rail.reads() &&
            path.remote.memory < wire::kMaxRails &&
            pools_[pool].nic_keys->state(path.remote.memory) == NicKeys::State::Asked) {
            return true;
        }
    }
    return false;
}

uct_rkey_t SlotBorrowing::key(const Path &path, uint32_t pool)
{
    return TransferMemory::remote_key(*pools_[pool].nic_keys, path);
}

} // namespace fuselink
