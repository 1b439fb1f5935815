/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "bulk_receiver.h"

namespace fuselink {

BulkReceiver::BulkReceiver(Connection &conn, Host &host,
                           const Rails &rails, Poller &poller,
                           GpuCopies &copies, NearPools &near,
                           const PeerRegistry &others, BulkSender &bulk,
                           OpenGets &gets, LocalMemory &memory)
    : conn_(conn), rails_(rails), copies_(copies), gets_(gets),
      targets_(gets, memory), staging_(conn, gets, copies, near),
      paths_(conn, host, rails, poller, bulk, gets, targets_, staging_),
      lender_(conn, copies.there() ? &copies.slots_in() : nullptr, near, rails,
              others)
{
}

void BulkReceiver::on_full(const wire::DataPart &part, const wire::InSlot &in)
{
    const SlotCredit loan{in.name.slot, in.name.turn};
    if (!paths_.admit(part)) {
        return; /* it is sent again, and the peer still has the slot */
    }
    const std::optional<FilledSlot> slot = lender_.fill(in.pool, loan);
    if (!slot) {
        ucs_error("fuselink: peer %016lx has filled slot %u, which it does not "
                  "have: dropped", conn_.uuid(), loan.slot);
        staging_.no_copy(part, std::nullopt, UCS_ERR_INVALID_PARAM);
        return;
    }
    RxTarget target;
    if (in.length == 0 || in.length > lender_.slot_size(in.pool) ||
        !targets_.find(part, in.length, target)) {
        ucs_error("fuselink: %u bytes of bulk data of peer %016lx are for "
                  "memory that it may not write: dropped", in.length,
                  conn_.uuid());
        staging_.no_copy(part, slot, UCS_ERR_INVALID_ADDR);
        return;
    }
    if (target.on_gpu) {
        if (target.get != nullptr) {
            target.get->arriving += in.length;
        }
        staging_.in_slot(part, target.to, *slot, in.length, target.op_of_get());
        if (slot->pool == nullptr && part.remote < rails_.list().size() &&
            rails_.list()[part.remote]->reads()) {
            lender_.lend_near(rails_.list()[part.remote]->memory());
        }
        return;
    }
    /* Other memory than the peer believes. */
    const bool copied = to_host(target, part, *slot, in.length);
    staging_.no_copy(part, slot, copied ? UCS_OK : UCS_ERR_INVALID_ADDR);
    if (target.get != nullptr) {
        gets_.landed(*target.get, in.length);
    }
}

bool BulkReceiver::to_host(const RxTarget &target, const wire::DataPart &part,
                           const FilledSlot &slot, size_t length)
{
    if (slot.pool == nullptr) {
        return targets_.write(target, part, copies_.slots_in().at(slot.slot), length);
    }
    const auto buffer = std::make_unique<char[]>(length); /* never, if the peer is sane */
    return copies_.out(buffer.get(), slot.pool->at(slot.slot), length) == UCS_OK &&
           targets_.write(target, part, buffer.get(), length);
}

void BulkReceiver::end(bool stopped, bool closing)
{
    staging_.end();
    lender_.end(stopped, closing);
}

} // namespace fuselink
