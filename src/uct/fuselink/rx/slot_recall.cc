/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "slot_recall.h"

#include "../wire/messages.h"

namespace fuselink {

void recall_slots(const SlotLedger &ledger, uint32_t pool, const PeerRegistry &peers,
                  SlotLedger::Borrower not_who)
{
    wire::SlotRecall recall{};
    recall.header.type = static_cast<uint8_t>(wire::ControlType::SlotRecall);
    recall.keep        = ledger.share();
    recall.pool        = pool;
    for (SlotLedger::Borrower who : ledger.over_quota()) {
        Connection *conn = who != not_who ? peers.find(who) : nullptr;
        if (conn != nullptr && !conn->failed()) {
            conn->send_control(&recall, sizeof(recall));
        }
    }
}

} // namespace fuselink
