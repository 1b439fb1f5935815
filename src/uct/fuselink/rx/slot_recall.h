/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_RX_SLOT_RECALL_H
#define FUSELINK_RX_SLOT_RECALL_H

#include "../conn/peer_registry.h"
#include "../staging/slot_ledger.h"

#include <cstdint>

namespace fuselink {

/** Asks the borrowers of a pool that have more than their share, but for `not_who`, to give the
 *  rest back. They may fail by it. */
void recall_slots(const SlotLedger &ledger, uint32_t pool, const PeerRegistry &peers,
                  SlotLedger::Borrower not_who = 0);

} // namespace fuselink

#endif
