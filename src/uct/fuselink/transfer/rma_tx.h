/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TRANSFER_RMA_TX_H
#define FUSELINK_TRANSFER_RMA_TX_H

#include "../ucx.h"
#include "chunk.h"
#include "path.h"
#include "slot_borrowing.h"
#include "transfer_memory.h"

namespace fuselink {

/** Hands chunks to rails' puts and gets. Both return as UCT's: chunk.comp is
 *  invoked if they return UCS_INPROGRESS. One thread at a time (the worker's). */
class RmaTx {
public:
    /** All outlive this. */
    RmaTx(const TransferMemory &memory, SlotBorrowing &slots)
        : memory_(memory), slots_(slots)
    {
    }
    RmaTx(const RmaTx &)            = delete;
    RmaTx &operator=(const RmaTx &) = delete;

    /** Between memory of ours and the peer's, as TxMethod::Rma has it. */
    ucs_status_t post(Chunk &chunk);
    /** Into the slot chunk.loan. */
    ucs_status_t post_to_slot(Chunk &chunk);

private:
    ucs_status_t put(Chunk &chunk, uint64_t to, uct_rkey_t rkey);

    const TransferMemory &memory_;
    SlotBorrowing        &slots_;
};

} // namespace fuselink

#endif
