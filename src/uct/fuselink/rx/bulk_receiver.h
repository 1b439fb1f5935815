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
    BulkReceiver(Connection &conn, Host &host, const Rails &rails,
                 Poller &poller, GpuCopies &copies, NearPools &near,
                 const PeerRegistry &others, BulkSender &bulk, OpenGets &gets,
                 LocalMemory &memory);
    BulkReceiver(const BulkReceiver &)            = delete;
    BulkReceiver &operator=(const BulkReceiver &) = delete;

    /* Paths: see RxPathEnds. */
    bool on_announced(uint8_t rail, uint8_t own, uint32_t number)
    {
        return paths_.on_announced(rail, own, number);
    }
    void on_part(const wire::DataPart &part, const char *data, size_t length)
    {
        paths_.on_part(part, data, length);
    }
    void on_path_broken(const void *data, size_t length)
    {
        paths_.on_broken(data, length);
    }
    bool owes_drained(uint8_t from, uint8_t own) const
    {
        return paths_.owes_drained(from, own);
    }
    void drain() { paths_.drain(); }

    /* Slots that the peer is lent: see SlotLender. */
    void on_slot_ask(const void *data, size_t length)
    {
        lender_.on_ask(data, length);
    }
    void on_slot_back(const void *data, size_t length)
    {
        lender_.on_back(data, length);
    }
    /** Size of the slots of a pool, bytes; 0: it is lent none of that. */
    size_t slot_size(uint32_t pool) const { return lender_.slot_size(pool); }
    /** The peer has put a chunk into a slot. */
    void on_full(const wire::DataPart &part, const wire::InSlot &in);

    /** At the end of the connection: what is being copied ends, and then as
     *  SlotLender::end(). */
    void end(bool stopped, bool closing);

private:
    bool to_host(const RxTarget &target, const wire::DataPart &part, const FilledSlot &slot,
                 size_t length);

    Connection  &conn_;
    const Rails &rails_;
    GpuCopies   &copies_;
    OpenGets    &gets_;
    RxTargets    targets_;
    RxStaging    staging_;
    RxPathEnds   paths_;
    SlotLender   lender_;
};

} // namespace fuselink

#endif
