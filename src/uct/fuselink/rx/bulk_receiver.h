/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_RX_BULK_RECEIVER_H
#define FUSELINK_RX_BULK_RECEIVER_H

#include "../conn/connection.h"
#include "../conn/peer_registry.h"
#include "../host/host.h"
#include "../rail/poller.h"
#include "../rail/rails.h"
#include "../relay/gpu_copies.h"
#include "../rma/local_memory.h"
#include "../rma/open_gets.h"
#include "../transfer/bulk.h"
#include "../wire/messages.h"
#include "rx_path_ends.h"
#include "rx_staging.h"
#include "rx_target.h"
#include "slot_lender.h"

namespace fuselink {

/**
 * Bulk data of one peer, as it comes: puts together where it belongs, the paths
 * that it comes by, and what it goes through on its way to a GPU.
 *
 * What the peer says is untrusted. One thread at a time (the worker's).
 */
class BulkReceiver {
public:
    BulkReceiver(Connection &conn, const Host &host, const Rails &rails,
                 Poller &poller, GpuCopies &copies, const PeerRegistry &others,
                 BulkSender &bulk, OpenGets &gets, LocalMemory &memory)
        : targets_(gets, memory), staging_(conn, gets, copies),
          paths_(conn, host, rails, poller, bulk, gets, targets_, staging_),
          lender_(conn, copies, rails, others, gets, paths_, targets_, staging_)
    {
    }
    BulkReceiver(const BulkReceiver &)            = delete;
    BulkReceiver &operator=(const BulkReceiver &) = delete;

    RxPathEnds       &paths() { return paths_; }
    const RxPathEnds &paths() const { return paths_; }
    SlotLender       &lender() { return lender_; }

private:
    RxTargets  targets_;
    RxStaging  staging_;
    RxPathEnds    paths_;
    SlotLender lender_;
};

} // namespace fuselink

#endif
