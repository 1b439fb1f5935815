/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TRANSFER_RETRANSMISSION_H
#define FUSELINK_TRANSFER_RETRANSMISSION_H

#include "../conn/connection.h"
#include "chunk_selector.h"
#include "chunk_tx.h"
#include "path_recovery.h"
#include "path_set.h"
#include "pump.h"
#include "transfer_memory.h"
#include "transfer_queue.h"
#include "tx_staging.h"

namespace fuselink {

/**
 * Bytes that were lost with their path go another way.
 *
 * One thread at a time (the worker's).
 */
class Retransmission final : public PathRecovery::Listener {
public:
    /** All outlive this. */
    Retransmission(Connection &connection, const PathSet &paths,
                   const TransferMemory &memory, TxStaging &staging,
                   TransferQueue &transfers, ChunkSelector &selector,
                   ChunkTx &chunks, Pump &pump)
        : connection_(connection), paths_(paths), memory_(memory),
          staging_(staging), transfers_(transfers),
          queue_(transfers.retransmits()), selector_(selector),
          chunks_(chunks), pump_(pump)
    {
    }
    Retransmission(const Retransmission &)            = delete;
    Retransmission &operator=(const Retransmission &) = delete;

    /** Something was lost. */
    bool waits() const { return !queue_.empty(); }

    /** Has what was lost of a GPU's memory copied, again or for the first time, as
     *  far ahead of the NICs as other copies. */
    void copy();
    /** Gives segments to paths, as far as there is room. One that no path can
     *  carry lets the others pass. */
    void send();

    void on_torn_down(Path &path) override;
    void on_drained(Path &path, uint32_t seen) override;

private:
    void end(Chunk &chunk);
    void send_again(Chunk &chunk);

    Connection           &connection_;
    const PathSet        &paths_;
    const TransferMemory &memory_;
    TxStaging            &staging_;
    TransferQueue        &transfers_;
    RetransmitQueue      &queue_;
    ChunkSelector        &selector_;
    ChunkTx              &chunks_;
    Pump                 &pump_;
};

} // namespace fuselink

#endif
