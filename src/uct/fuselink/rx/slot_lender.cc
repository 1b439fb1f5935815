/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "slot_lender.h"

#include <algorithm>
#include <vector>

namespace fuselink {

using wire::ControlType;

void SlotLender::on_ask(const void *data, size_t length)
{
    wire::SlotAsk ask;
    if (!wire::parse(data, length, ask)) {
        return;
    }
    wire::SlotGrant grant{};
    grant.header.type = static_cast<uint8_t>(ControlType::SlotGrant);
    std::vector<wire::SlotName> names;
    if (slots_ != nullptr && slots_->ready()) {
        SlotLedger &ledger = slots_->ledger();
        const uint32_t who  = conn_.session();
        const size_t   most = (rails_.max_message() - sizeof(grant)) /
                              sizeof(wire::SlotName); /* in one message */
        const auto     want = static_cast<uint32_t>(
            std::min<size_t>(ask.want, ledger.lent(who) + most));
        for (const SlotCredit &loan : ledger.lend(who, want)) {
            names.push_back({loan.slot, loan.turn});
        }
        const RegionKey &key = slots_->region().key;
        grant.base       = reinterpret_cast<uintptr_t>(slots_->at(0));
        grant.region_key = key.key;
        grant.region_id  = key.id;
        grant.size       = static_cast<uint32_t>(slots_->size());
        if (ledger.lent(who) < std::min(ask.want, ledger.share())) {
            recall();
        }
    }
    grant.count = static_cast<uint32_t>(names.size());
    conn_.send_control(&grant, sizeof(grant), names.data(),
                       names.size() * sizeof(names[0]));
}

/* From those who have more than their share. */
void SlotLender::recall()
{
    const SlotLedger &ledger = slots_->ledger();
    wire::SlotRecall recall{};
    recall.header.type = static_cast<uint8_t>(ControlType::SlotRecall);
    recall.keep        = ledger.share();
    for (SlotLedger::Borrower who : ledger.over_quota()) {
        Connection *other = others_.find(who);
        if (other != nullptr && other != &conn_ && !other->failed()) {
            other->send_control(&recall, sizeof(recall));
        }
    }
}

void SlotLender::on_back(const void *data, size_t length)
{
    wire::SlotBack back;
    if (!wire::parse(data, length, back) ||
        slots_ == nullptr) {
        return;
    }
    wire::for_names(back, data, length, [&](const wire::SlotName &name) {
        if (!slots_->ledger().give_back(conn_.session(),
                                        {name.slot, name.turn})) {
            ucs_debug("fuselink: peer %016lx gives back a slot that it does "
                      "not have", conn_.uuid());
        }
    });
}

bool SlotLender::fill(const SlotCredit &loan)
{
    return slots_ != nullptr && slots_->ledger().fill(conn_.session(), loan);
}

/* The peer has not said that it is done, and our lanes to it are closed. Queue
 * pairs of our own are gone with them, and whatever its NICs still send to those
 * is dropped; messages are ours to drop. But UCX keeps the streams that it has
 * accepted, and does not say which are whose: what is in one lands when it
 * comes, after an hour if the peer was stopped for so long. So it is with a queue
 * pair that serves all peers. No time that passes proves anything there. */
bool SlotLender::may_still_write() const
{
    return std::any_of(rails_.list().begin(), rails_.list().end(),
                       [](const auto &rail) {
                           return !rail->by_ep() && !rail->by_messages();
                       });
}

void SlotLender::end(bool stopped, bool closing)
{
    if (slots_ == nullptr) {
        return;
    }
    SlotLedger    &ledger = slots_->ledger();
    const uint32_t before = ledger.lost();
    ledger.forget(conn_.session(), !stopped && may_still_write());
    if (ledger.lost() != before && !closing) {
        ucs_warn("fuselink: peer %016lx went without a word and may still write "
                 "to %u slots of the host's memory: they are not used again, "
                 "of %u are %u left (UCX_FUSELINK_RELAY_MEMORY)", conn_.uuid(),
                 ledger.lost() - before, ledger.size(),
                 ledger.size() - ledger.lost());
    }
}

} // namespace fuselink
