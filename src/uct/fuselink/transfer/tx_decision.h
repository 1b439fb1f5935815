/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TRANSFER_TX_DECISION_H
#define FUSELINK_TRANSFER_TX_DECISION_H

#include "../sched/policy.h"
#include "tx_methods.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace fuselink {

/** What is to happen with the next bytes of a transfer. */
struct TxDecision {
    enum class Verdict : uint8_t {
        Send,
        Wait,  /* for room, or a copy: nothing else has an earlier turn */
        Pass,  /* no path that is whole can carry it as it is: another transfer's
                  bytes may go there, which may have what it waits for */
        Move,  /* no path reads the slot of another GPU that it is in */
        Never  /* no path ever will, and nothing of it is on its way */
    };

    Verdict  verdict = Verdict::Wait;
    /* Send: */
    Path    *path    = nullptr;
    size_t   length  = 0;
    TxMethod method  = TxMethod::None;
    bool     direct  = false; /* the NIC reads the GPU's memory, from the end */
    uint32_t pool    = 0;     /* by a slot: of which pool of the peer's */
    const sched::PathView *seen = nullptr; /* of the choice; null: no trace */
};

} // namespace fuselink

#endif
