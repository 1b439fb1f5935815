/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "bulk_receiver.h"

namespace fuselink {

BulkReceiver::BulkReceiver(Connection &conn, Host &host,
                           const Rails &rails, Poller &poller,
                           GpuCopies &copies, const PeerRegistry &others,
                           BulkSender &bulk, OpenGets &gets,
                           LocalMemory &memory)
    : conn_(conn), copies_(copies), gets_(gets), targets_(gets, memory),
      staging_(conn, gets, copies),
      paths_(conn, host, rails, poller, bulk, gets, targets_, staging_),
      lender_(conn, copies.there() ? &copies.slots_in() : nullptr, rails,
              others)
{
}

void BulkReceiver::on_full(const wire::DataPart &part, const wire::InSlot &in)
{
    const SlotCredit loan{in.name.slot, in.name.turn};
    if (!paths_.admit(part)) {
        return; /* it is sent again, and the peer still has the slot */
    }
    if (!lender_.fill(loan)) {
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
                  "memory that it may not write: dropped", in.length,
                  conn_.uuid());
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
    const bool copied = targets_.write(target, part, slots.at(loan.slot),
                                       in.length);
    staging_.no_copy(part, loan.slot, copied ? UCS_OK : UCS_ERR_INVALID_ADDR);
    if (target.get != nullptr) {
        gets_.landed(*target.get, in.length);
    }
}

void BulkReceiver::end(bool stopped, bool closing)
{
    staging_.end();
    lender_.end(stopped, closing);
}

} // namespace fuselink
