/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* Peer: slots of the host's memory that are lent to it for data that goes on to a
 * GPU of this process. */

#include "peer.h"

#include "../engine/engine.h"

#include <algorithm>
#include <vector>

namespace fuselink {

using wire::ControlType;

void Peer::on_slot_ask(const void *data, size_t length)
{
    wire::SlotAsk ask;
    if (!wire::parse(data, length, ask)) {
        return;
    }
    wire::SlotGrant grant{};
    grant.header.type = static_cast<uint8_t>(ControlType::SlotGrant);
    std::vector<wire::SlotName> names;
    if (engine_.has_hop() && engine_.slots_in().ready()) {
        Slots      &slots  = engine_.slots_in();
        SlotLedger &ledger = slots.ledger();
        const uint32_t most = static_cast<uint32_t>(
            (engine_.max_message() - sizeof(grant)) / sizeof(wire::SlotName));
        const uint32_t want = std::min(ask.want, ledger.lent(session()) + most);
        for (const SlotLoan &loan : ledger.lend(session(), want)) {
            names.push_back({loan.slot, loan.turn});
        }
        const RegionKey &key = slots.region().key;
        grant.base       = reinterpret_cast<uintptr_t>(slots.at(0));
        grant.region_key = key.key;
        grant.region_id  = key.id;
        grant.size       = static_cast<uint32_t>(slots.size());
        if (ledger.lent(session()) < std::min(ask.want, ledger.share())) {
            recall_slots();
        }
    }
    grant.count = static_cast<uint32_t>(names.size());
    send_control(&grant, sizeof(grant), names.data(),
                 names.size() * sizeof(names[0]));
}

/* From those who have more than their share. */
void Peer::recall_slots()
{
    const SlotLedger &ledger = engine_.slots_in().ledger();
    wire::SlotRecall recall{};
    recall.header.type = static_cast<uint8_t>(ControlType::SlotRecall);
    recall.keep        = ledger.share();
    for (SlotLedger::Borrower who : ledger.debtors()) {
        Peer *peer = engine_.find_peer(who);
        if (peer != nullptr && peer != this && !peer->failed()) {
            peer->send_control(&recall, sizeof(recall));
        }
    }
}

void Peer::on_slot_back(const void *data, size_t length)
{
    wire::SlotBack back;
    if (!wire::parse(data, length, back) || !engine_.has_hop()) {
        return;
    }
    wire::for_names(back, data, length, [&](const wire::SlotName &name) {
        if (!engine_.slots_in().ledger().give_back(session(),
                                                   {name.slot, name.turn})) {
            ucs_debug("fuselink: peer %016lx gives back a slot that it does "
                      "not have", uuid());
        }
    });
}

/* The peer has put a chunk into a slot. */
void Peer::on_slot_full(const wire::DataPart &part, const wire::InSlot &in)
{
    const SlotLoan loan{in.name.slot, in.name.turn};
    Arrival &arrival = arrivals_[{part.rail, part.remote}];
    if (wire::chunk_before(part.chunk, arrival.from)) {
        return; /* it is sent again, and the peer still has the slot */
    }
    arrival.from = wire::chunk_mark(arrival.from, part.chunk);
    if (!engine_.has_hop() ||
        !engine_.slots_in().ledger().fill(session(), loan)) {
        ucs_error("fuselink: peer %016lx has filled slot %u, which it does not "
                  "have: dropped", uuid(), loan.slot);
        onto_gpu_.no_copy(part, Landings::kNoSlot, UCS_ERR_INVALID_PARAM);
        return;
    }
    Slots &slots = engine_.slots_in();
    PartTarget target;
    if (in.length == 0 || in.length > slots.size() ||
        !find_target(part, in.length, target)) {
        ucs_error("fuselink: %u bytes of bulk data of peer %016lx are for "
                  "memory that it may not write: dropped", in.length, uuid());
        onto_gpu_.no_copy(part, loan.slot, UCS_ERR_INVALID_ADDR);
        return;
    }
    if (target.on_gpu) {
        if (target.get != nullptr) {
            target.get->arriving += in.length;
        }
        onto_gpu_.in_slot(part, target.to, loan.slot, in.length,
                          target.get != nullptr ? &target.op : nullptr);
        return;
    }
    /* Other memory than the peer believes. */
    const bool copied = copy_to(target, part, slots.at(loan.slot), in.length);
    onto_gpu_.no_copy(part, loan.slot,
                      copied ? UCS_OK : UCS_ERR_INVALID_ADDR);
    if (target.get != nullptr) {
        on_landed(*target.get, in.length);
    }
}

/* The peer has not said that it is done, and our lanes to it are closed. Queue
 * pairs of our own are gone with them, and whatever its NICs still send to those
 * is dropped; messages are ours to drop. But UCX keeps the streams that it has
 * accepted, and does not say which are whose: what is in one lands when it
 * comes, after an hour if the peer was stopped for so long. So it is with a queue
 * pair that serves all peers. No time that passes proves anything there. */
bool Peer::may_still_write() const
{
    if (leave_.is_stopped || leave_.is_gone) {
        return false;
    }
    return std::any_of(engine_.rails().begin(), engine_.rails().end(),
                       [](const auto &rail) {
                           return !rail->by_ep() && !rail->by_messages();
                       });
}

/* At the end of the peer, when its lanes are closed: what it may still write to
 * is not used again. */
void Peer::end_lending()
{
    if (!engine_.has_hop()) {
        return;
    }
    onto_gpu_.end();
    SlotLedger    &ledger = engine_.slots_in().ledger();
    const uint32_t before = ledger.lost();
    ledger.forget(session(), may_still_write());
    /* Where the interface closes its slots go as well. */
    if (ledger.lost() != before && !leave_.abandoned) {
        ucs_warn("fuselink: peer %016lx went without a word and may still write "
                 "to %u slots of the host's memory: they are not used again, "
                 "of %u are %u left (UCX_FUSELINK_RELAY_MEMORY)", uuid(),
                 ledger.lost() - before, ledger.size(),
                 ledger.size() - ledger.lost());
    }
}

} // namespace fuselink
