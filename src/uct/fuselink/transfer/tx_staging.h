/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TRANSFER_TX_STAGING_H
#define FUSELINK_TRANSFER_TX_STAGING_H

#include "../conn/connection.h"
#include "../fifo.h"
#include "../host/host.h"
#include "../relay/gpu_copies.h"
#include "../sched/policy.h"
#include "../ucx.h"
#include "chunk.h"
#include "path_set.h"
#include "pump.h"
#include "transfer_memory.h"
#include "tx_methods.h"

#include <memory>
#include <vector>

namespace fuselink {

/**
 * Memory of GPUs that is to be sent: it is copied to bounce buffers of the host's
 * first, a little ahead of the NICs. Copying is apart from sending: a path is chosen
 * when the bytes are there, and the windows of NICs count what NICs do.
 *
 * A segment's buffer is given back when the transfer has passed it, it is not being
 * copied, and no chunk or segment to retransmit is in it. ahead_ counts the segments
 * that transfers have not passed, copying_ those that are being copied.
 *
 * What NICs beside other GPUs are to read (NearTx) is copied to slots of these GPUs
 * instead.
 *
 * One thread at a time (the worker's).
 */
class TxStaging {
public:
    /** Has the transfers. */
    class Listener {
    public:
        /** A copy of the transfer has failed; it is told so before on_copied(). */
        virtual void on_copy_failed(Transfer &transfer,
                                    ucs_status_t status) = 0;
        /** A copy has ended, well or not: the transfer may be over. */
        virtual void on_copied(Transfer &transfer) = 0;

    protected:
        ~Listener() = default;
    };

    /** All outlive this. */
    TxStaging(Connection &connection, const Host &host, GpuCopies &copies,
              const PathSet &paths, const TransferMemory &memory,
              TxMethods &methods, const sched::Limits &limits,
              Listener &listener, Pump &pump)
        : connection_(connection), host_(host), copies_(copies), paths_(paths),
          memory_(memory), methods_(methods), limits_(limits),
          listener_(listener), pump_(pump)
    {
    }
    TxStaging(const TxStaging &)            = delete;
    TxStaging &operator=(const TxStaging &) = delete;

    /** Copies that are under way, to the host or other GPUs. */
    size_t copying() const { return copying_ + filling_; }
    /** Size of a buffer, bytes. */
    size_t buffer_size() { return copies_.slots_out().size(); }
    /** Segments that are copied, or being so, and not sent: no more than that. */
    size_t most_ahead() const { return kAhead + paths_.size(); }

    /** A transfer from a GPU begins. */
    void add(Transfer &transfer) { to_copy_.push_back(&transfer); }
    /** Some transfer has bytes of which no copy has begun. */
    bool wants_copies() const { return !to_copy_.empty(); }
    /** Begins copies, as far ahead of the NICs as they should be. May fail the
     *  connection, and end transfers. */
    void copy_ahead();

    /** A buffer for a part of the transfer; nullptr if there is none: then the pump
     *  waits for one, or the connection fails. */
    StagingSegment *take(Transfer &transfer, size_t offset, size_t length);
    /** Begins to fill it; its failure may end the transfer, and the connection. */
    void copy(StagingSegment &segment);

    /** The same in a slot of another GPU, whose failure is StagingSegment::failed. The
     *  segment is in a queue. nullptr if the lender has none left. */
    StagingSegment *take_near(Transfer &transfer, size_t offset, size_t length,
                              Lender &lender);
    void            fill(StagingSegment &segment);
    /** Those in slots of that lender with bytes that wait for a NIC. */
    size_t          queued(const Lender &lender) const;
    /** Usual length of one, bytes. */
    size_t          segment_length();

    /** A chunk of the transfer's next bytes, of what is copied, has begun. */
    void take_from(Transfer &transfer, size_t length);
    /** A NIC takes the transfer's last bytes from the GPU's memory: copies go
     *  towards them from the front. */
    void take_from_end(Transfer &transfer, size_t length);
    /** A chunk or a segment to retransmit needs it no more; null if that was in
     *  none. */
    void release(StagingSegment *segment)
    {
        if (segment != nullptr) {
            --segment->users;
            let_go(*segment);
        }
    }
    /** The same, for the queue that it was in. */
    void leave_queue(StagingSegment *segment)
    {
        if (segment != nullptr) {
            segment->queued = false;
            release(segment);
        }
    }
    /** No more of the transfer is sent. What is being copied keeps it open: its
     *  memory is read until then. */
    void drop(Transfer &transfer);

    /** Waits for all copies, before the memory of the buffers goes away. Copies are
     *  this machine's own work and wait for nobody; one that does not end is of a
     *  GPU that is broken, and keeps what it writes to. */
    void await();

private:
    /* All senders share the buffers, and where a peer is silent, or does not look, its chunks
     * keep theirs for as long. So one takes up to three times as many as it leaves free, by
     * the dynamic threshold of Choudhury and Hahne (IEEE/ACM ToN 6(2), 1998), and never
     * the last if it has some. */
    bool   may_take(size_t free) const
    {
        return held_ == 0 || (free > 1 && held_ < 3 * free);
    }
    StagingSegment &add(Transfer &transfer, size_t offset, size_t length);
    void            copied(StagingSegment &segment);
    void            filled(StagingSegment &segment);
    void            let_go(StagingSegment &segment);

    static void on_copied(uct_completion_t *comp);
    static void on_filled(uct_completion_t *comp);

    /* The GPU's link has the next copy to do when one is done. */
    static constexpr size_t kAhead = 4;

    Connection                                  &connection_;
    const Host                                  &host_;
    GpuCopies                                   &copies_;
    const PathSet                               &paths_;
    const TransferMemory                        &memory_;
    TxMethods                                   &methods_;
    const sched::Limits                         &limits_;
    Listener                                    &listener_;
    Pump                                        &pump_;
    Fifo<Transfer *>                             to_copy_;
    size_t                                       copying_ = 0;
    size_t                                       filling_ = 0; /* slots of other GPUs */
    size_t                                       ahead_   = 0;
    size_t                                       held_    = 0; /* buffers */
    std::vector<std::unique_ptr<StagingSegment>> pool_;
    StagingSegment                              *free_ = nullptr;
};

} // namespace fuselink

#endif
