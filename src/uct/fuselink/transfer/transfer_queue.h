/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TRANSFER_TRANSFER_QUEUE_H
#define FUSELINK_TRANSFER_TRANSFER_QUEUE_H

#include "../conn/connection.h"
#include "../fifo.h"
#include "../memory/region.h"
#include "../memory/remote_key.h"
#include "../sched/rotation.h"
#include "../ucx.h"
#include "key_source.h"
#include "path_set.h"
#include "plan_manager.h"
#include "pump.h"
#include "retransmit_queue.h"
#include "slot_borrowing.h"
#include "transfer.h"
#include "transfer_owner.h"
#include "transfer_trials.h"
#include "tx_staging.h"

#include <memory>
#include <vector>

namespace fuselink {

/**
 * The transfers to one peer, from their begin to their end: the order of those with
 * bytes that no path has, and what was lost and is to be sent again.
 *
 * A transfer is over, and its owner told, when every byte has arrived or is given
 * up: nothing of it waits (assigned == tail) and nothing is outstanding.
 *
 * One thread at a time (the worker's).
 */
class TransferQueue final : public TxStaging::Listener {
public:
    /** All outlive this. */
    TransferQueue(Connection &connection, TransferOwner &owner, KeySource &keys,
                  PathSet &paths, SlotBorrowing &slots, TxStaging &staging,
                  PlanManager &plans, sched::Rotation &rotation,
                  TransferTrials &trials, Pump &pump)
        : connection_(connection), owner_(owner), keys_(keys), paths_(paths),
          slots_(slots), staging_(staging), plans_(plans),
          rotation_(rotation), trials_(trials), pump_(pump)
    {
    }
    TransferQueue(const TransferQueue &)            = delete;
    TransferQueue &operator=(const TransferQueue &) = delete;

    /** A user's operation, of length > 0 bytes. Its completion is not called in
     *  here: UCT tells the user by the status what has ended before the
     *  return. */
    ucs_status_t begin(Transfer::Kind kind, PeerUser &user, const void *buffer,
                       size_t length, uint64_t remote, Region *region,
                       const RemoteKey &key, uct_completion_t *comp);
    /** See BulkSender::serve_get(). */
    void serve(const GetToServe &get);

    /** Gets that are served, and those among them whose peer hears at the end whether the
     *  memory was there. */
    size_t serving() const { return serving_; }
    size_t confirming() const { return confirming_; }
    bool   stop_serving(const wire::OpId &op);
    /** Ends those of one user: what is under way arrives. */
    void   cancel(const PeerUser &user);
    /** The same, and nobody is told. */
    void   forget(const PeerUser &user);

    /* What waits for a path. */

    /** Transfers with bytes that no path has, the next first. */
    const Fifo<Transfer *> &waiting() const { return waiting_; }
    /** What goes before them. */
    RetransmitQueue &retransmits() { return retransmits_; }
    bool   empty() const { return waiting_.empty() && retransmits_.empty(); }
    /** Bytes that wait for a path. */
    size_t backlog() const { return bytes_ + retransmits_.bytes(); }

    /** The first one's next bytes, or (from a GPU, read by the NIC) its last, are
     *  on their way. */
    void sent(Transfer &transfer, size_t length, bool from_end);
    /** The last bytes of one that waits are in that segment from now on, which goes apart. */
    void move_end(Transfer &transfer, StagingSegment &segment);
    /** The first one lets the others pass. */
    void defer_first();
    /** No path will ever carry what is left of a get, of which nothing is on its
     *  way: the peer is to send all of it. */
    void hand_over_rest(Transfer &transfer);
    /** Nothing of it is on its way. */
    bool rests(const Transfer &transfer) const
    {
        return transfer.outstanding == retransmits_.count(transfer);
    }

    /** Ends a transfer early: with what is under way. */
    void stop(Transfer &transfer, ucs_status_t status);
    /** Gives up what no path has of it. */
    void drop_unassigned(Transfer &transfer);
    /** Something of it has ended that was outstanding. Ends it if that was the
     *  last. */
    void part_ended(Transfer &transfer)
    {
        --transfer.outstanding;
        end_if_over(transfer);
    }
    void end_if_over(Transfer &transfer)
    {
        if (transfer.over()) {
            finish(transfer);
        }
    }
    /** What it was posted for failed in the call; nothing of it is left. */
    void finish(Transfer &transfer);

    /** Drops all that no path has. The connection has failed. */
    void fail(ucs_status_t status);

    void on_copy_failed(Transfer &transfer, ucs_status_t status) override;
    void on_copied(Transfer &transfer) override { end_if_over(transfer); }

private:
    Transfer &add();
    void      remove(Transfer &transfer);
    void      start(Transfer &transfer);
    void      hand_over(Transfer &transfer);

    Connection      &connection_;
    TransferOwner   &owner_;
    KeySource       &keys_;
    PathSet         &paths_;
    SlotBorrowing   &slots_;
    TxStaging       &staging_;
    PlanManager     &plans_;
    sched::Rotation &rotation_;
    TransferTrials  &trials_;
    Pump            &pump_;

    Fifo<Transfer *> waiting_;
    RetransmitQueue  retransmits_;
    size_t           bytes_   = 0; /* of waiting_ */
    size_t           serving_ = 0;
    size_t           confirming_ = 0; /* of these */

    std::vector<std::unique_ptr<Transfer>> pool_; /* they stay where they are */
    std::vector<Transfer *>                free_;
};

} // namespace fuselink

#endif
