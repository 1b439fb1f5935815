/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "slot_lender.h"

#include "slot_recall.h"

#include <algorithm>
#include <vector>

namespace fuselink {

using wire::ControlType;

namespace {

/* So many for each peer beside a NIC: one that is filled, one that is emptied, and one for what
 * tells of either. */
constexpr uint32_t kNearSlots = 4;

} // namespace

void SlotLender::on_ask(const void *data, size_t length)
{
    wire::SlotAsk ask;
    if (!wire::parse(data, length, ask)) {
        return;
    }
    if (slots_ == nullptr || !slots_->ready()) {
        grant(wire::kHostPool, 0, 0, {}, {});
        return;
    }
    SlotLedger    &ledger = slots_->ledger();
    const uint32_t who    = conn_.session();
    const size_t   most   = (rails_.max_message() - sizeof(wire::SlotGrant)) /
                        sizeof(wire::SlotName); /* in one message */
    const auto     want   = static_cast<uint32_t>(
        std::min<size_t>(ask.want, ledger.lent(who) + most));
    const std::vector<SlotCredit> loans = ledger.lend(who, want);
    if (ledger.lent(who) < std::min(ask.want, ledger.share())) {
        recall_slots(ledger, wire::kHostPool, others_, who);
    }
    grant(wire::kHostPool, reinterpret_cast<uintptr_t>(slots_->at(0)), slots_->size(),
          slots_->region().key, loans);
    for (const auto &rail : rails_.list()) {
        if (rail->reads()) {
            lend_near(rail->memory());
        }
    }
}

void SlotLender::grant(uint32_t pool, uint64_t base, size_t size, const RegionKey &key,
                       const std::vector<SlotCredit> &loans)
{
    std::vector<wire::SlotName> names;
    for (const SlotCredit &loan : loans) {
        names.push_back({loan.slot, loan.turn});
    }
    wire::SlotGrant grant{};
    grant.header.type = static_cast<uint8_t>(ControlType::SlotGrant);
    grant.base        = base;
    grant.region_key  = key.key;
    grant.region_id   = key.id;
    grant.size        = static_cast<uint32_t>(size);
    grant.count       = static_cast<uint32_t>(names.size());
    grant.pool        = pool;
    conn_.send_control(&grant, sizeof(grant), names.data(),
                       names.size() * sizeof(names[0]));
}

void SlotLender::lend_near(unsigned nic)
{
    NearPool *pool = conn_.failed() ? nullptr : near_.pool_for(nic, conn_.session());
    if (pool == nullptr) {
        return;
    }
    const uint32_t                number = pool->number();
    const std::vector<SlotCredit> loans = pool->lend(conn_.session(), kNearSlots);
    if (loans.size() < kNearSlots) {
        recall_slots(pool->ledger(), number, others_, conn_.session()); /* somebody may have more than his share now */
    }
    if (!loans.empty()) {
        grant(number, reinterpret_cast<uintptr_t>(pool->at(0)), pool->size(),
              pool->key(), loans);
    }
    if (NearPool *left = near_.find(number)) { /* failed connections give theirs back */
        near_.settle(*left);
    }
}

size_t SlotLender::slot_size(uint32_t pool) const
{
    if (pool == wire::kHostPool) {
        return slots_ != nullptr ? slots_->size() : 0;
    }
    const NearPool *near = near_.find(pool);
    return near != nullptr ? near->size() : 0;
}

void SlotLender::on_back(const void *data, size_t length)
{
    wire::SlotBack back;
    if (!wire::parse(data, length, back)) {
        return;
    }
    NearPool   *pool   = near_.find(back.pool);
    SlotLedger *ledger = pool != nullptr                                   ? &pool->ledger() :
                         back.pool == wire::kHostPool && slots_ != nullptr ? &slots_->ledger() :
                                                                             nullptr;
    if (ledger == nullptr) {
        return;
    }
    wire::for_names(back, data, length, [&](const wire::SlotName &name) {
        if (!ledger->give_back(conn_.session(), {name.slot, name.turn})) {
            ucs_debug("fuselink: peer %016lx gives back a slot that it does "
                      "not have", conn_.uuid());
        }
    });
    if (pool != nullptr) {
        near_.settle(*pool);
    }
}

std::optional<FilledSlot> SlotLender::fill(uint32_t pool, const SlotCredit &loan)
{
    if (pool == wire::kHostPool) {
        return slots_ != nullptr && slots_->ledger().fill(conn_.session(), loan) ?
                   std::optional(FilledSlot{loan.slot, nullptr}) : std::nullopt;
    }
    NearPool *near = near_.find(pool);
    return near != nullptr && near->fill(conn_.session(), loan) ?
               std::optional(FilledSlot{loan.slot, near}) : std::nullopt;
}

/* The peer has not said that it is done, and our lanes to it are closed. Queue
 * pairs of our own are gone with them, and whatever its NICs still send to those
 * is dropped; messages are ours to drop. But UCX keeps the streams that it has
 * accepted, and does not say which are whose: what is in one lands when it
 * comes, after an hour if the peer was stopped for so long. So it is with a queue
 * pair that serves all peers. No time that passes proves anything there. */
bool SlotLender::may_still_write(bool to_gpus) const
{
    return std::any_of(rails_.list().begin(), rails_.list().end(),
                       [&](const auto &rail) {
                           return !rail->by_ep() && !rail->by_messages() &&
                                  (rail->reads() || !to_gpus);
                       });
}

void SlotLender::end(bool stopped, bool closing)
{
    end_near(stopped);
    if (slots_ == nullptr) {
        return;
    }
    SlotLedger    &ledger = slots_->ledger();
    const uint32_t before = ledger.lost();
    ledger.forget(conn_.session(), !stopped && may_still_write(false));
    if (ledger.lost() != before && !closing) {
        ucs_warn("fuselink: peer %016lx went without a word and may still write "
                 "to %u slots of the host's memory: they are not used again, "
                 "of %u are %u left (UCX_FUSELINK_RELAY_MEMORY)", conn_.uuid(),
                 ledger.lost() - before, ledger.size(),
                 ledger.size() - ledger.lost());
    }
}

/* What is lost of those stays the lender's loss, until this process ends. */
void SlotLender::end_near(bool stopped)
{
    std::vector<uint32_t> numbers; /* pools end meanwhile */
    for (const auto &pool : near_.list()) {
        pool->ledger().forget(conn_.session(), !stopped && may_still_write(true));
        numbers.push_back(pool->number());
    }
    for (uint32_t number : numbers) {
        near_.settle(*near_.find(number));
    }
}

} // namespace fuselink
