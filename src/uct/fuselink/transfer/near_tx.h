/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TRANSFER_NEAR_TX_H
#define FUSELINK_TRANSFER_NEAR_TX_H

#include "../conn/connection.h"
#include "../relay/gpu_copies.h"
#include "../sched/policy.h"
#include "path_set.h"
#include "pump.h"
#include "transfer_queue.h"
#include "tx_methods.h"
#include "tx_staging.h"

namespace fuselink {

/**
 * Bytes of a GPU for NICs that are beside other GPUs and cannot read this one: when what
 * reads them where they are has all that it should, parts of a transfer are moved from its
 * end to slots of these GPUs, and wait with what was lost for one of the NICs. A part whose
 * NICs are out is copied to the host after all.
 *
 * One thread at a time (the worker's).
 */
class NearTx {
public:
    /** All outlive this. */
    NearTx(Connection &connection, GpuCopies &copies, const PathSet &paths,
           TxMethods &methods, TxStaging &staging, TransferQueue &transfers,
           const sched::Limits &limits, Pump &pump)
        : connection_(connection), copies_(copies), paths_(paths), methods_(methods),
          staging_(staging), transfers_(transfers), limits_(limits), pump_(pump)
    {
    }
    NearTx(const NearTx &)            = delete;
    NearTx &operator=(const NearTx &) = delete;

    /** Moves what is to be moved of a transfer that waits. True if nothing of it waits any
     *  more. May fail the connection: then the transfer may have ended. */
    bool feed(Transfer &transfer)
    {
        return ucs_unlikely(transfer.from_gpu) && feed_from_gpu(transfer);
    }

private:
    bool feed_from_gpu(Transfer &transfer);
    bool move(Transfer &transfer, Lender &lender);

    Connection          &connection_;
    GpuCopies           &copies_;
    const PathSet       &paths_;
    TxMethods           &methods_;
    TxStaging           &staging_;
    TransferQueue       &transfers_;
    const sched::Limits &limits_;
    Pump                &pump_;
};

} // namespace fuselink

#endif
