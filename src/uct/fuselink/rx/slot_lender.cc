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
    if (copies_.there() && copies_.slots_in().ready()) {
        Slots      &slots  = copies_.slots_in();
        SlotLedger &ledger = slots.ledger();
        const uint32_t most = static_cast<uint32_t>(
            (rails_.max_message() - sizeof(grant)) / sizeof(wire::SlotName));
        const uint32_t who  = conn_.session();
        const uint32_t want = std::min(ask.want, ledger.lent(who) + most);
        for (const SlotLoan &loan : ledger.lend(who, want)) {
            names.push_back({loan.slot, loan.turn});
        }
        const RegionKey &key = slots.region().key;
        grant.base       = reinterpret_cast<uintptr_t>(slots.at(0));
        grant.region_key = key.key;
        grant.region_id  = key.id;
        grant.size       = static_cast<uint32_t>(slots.size());
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
    const SlotLedger &ledger = copies_.slots_in().ledger();
    wire::SlotRecall recall{};
    recall.header.type = static_cast<uint8_t>(ControlType::SlotRecall);
    recall.keep        = ledger.share();
    for (SlotLedger::Borrower who : ledger.debtors()) {
        Connection *other = others_.find(who);
        if (other != nullptr && other != &conn_ && !other->failed()) {
            other->send_control(&recall, sizeof(recall));
        }
    }
}

void SlotLender::on_back(const void *data, size_t length)
{
    wire::SlotBack back;
    if (!wire::parse(data, length, back) || !copies_.there()) {
        return;
    }
    wire::for_names(back, data, length, [&](const wire::SlotName &name) {
        if (!copies_.slots_in().ledger().give_back(conn_.session(),
                                                   {name.slot, name.turn})) {
            ucs_debug("fuselink: peer %016lx gives back a slot that it does "
                      "not have", conn_.uuid());
        }
    });
}

/* The peer has put a chunk into a slot. */
void SlotLender::on_full(const wire::DataPart &part, const wire::InSlot &in)
{
    const SlotLoan loan{in.name.slot, in.name.turn};
    if (!paths_.admit(part)) {
        return; /* it is sent again, and the peer still has the slot */
    }
    if (!copies_.there() ||
        !copies_.slots_in().ledger().fill(conn_.session(), loan)) {
        ucs_error("fuselink: peer %016lx has filled slot %u, which it does not "
                  "have: dropped", conn_.uuid(), loan.slot);
        staging_.no_copy(part, RxStaging::kNoSlot, UCS_ERR_INVALID_PARAM);
        return;
    }
    Slots &slots = copies_.slots_in();
    RxTarget target;
    if (in.length == 0 || in.length > slots.size() ||
        !targets_.find(part, in.length, target)) {
        ucs_error("fuselink: %u bytes of bulk data of peer %016lx are for "
                  "memory that it may not write: dropped", in.length, conn_.uuid());
        staging_.no_copy(part, loan.slot, UCS_ERR_INVALID_ADDR);
        return;
    }
    if (target.on_gpu) {
        if (target.get != nullptr) {
            target.get->arriving += in.length;
        }
        staging_.in_slot(part, target.to, loan.slot, in.length,
                          target.op_of_get());
        return;
    }
    /* Other memory than the peer believes. */
    const bool copied = targets_.write(target, part, slots.at(loan.slot), in.length);
    staging_.no_copy(part, loan.slot,
                      copied ? UCS_OK : UCS_ERR_INVALID_ADDR);
    if (target.get != nullptr) {
        gets_.landed(*target.get, in.length);
    }
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
    if (!copies_.there()) {
        return;
    }
    staging_.end();
    SlotLedger    &ledger = copies_.slots_in().ledger();
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
