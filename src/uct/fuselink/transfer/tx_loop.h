/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TRANSFER_TX_LOOP_H
#define FUSELINK_TRANSFER_TX_LOOP_H

#include "../conn/connection.h"
#include "../rail/poller.h"
#include "chunk_selector.h"
#include "chunk_tx.h"
#include "near_tx.h"
#include "path_set.h"
#include "pump.h"
#include "retransmission.h"
#include "room_queue.h"
#include "transfer_memory.h"
#include "transfer_owner.h"
#include "transfer_queue.h"
#include "tx_staging.h"

namespace fuselink {

/**
 * Gives the bytes that wait to paths, as far as these have room: first copies what
 * is of a GPU, then sends what was lost, then transfers in turn. What is left then of a
 * GPU may go over others (NearTx).
 *
 * One thread at a time (the worker's).
 */
class TxLoop final : public Pump, public RoomWaiter {
public:
    /** All outlive this, though they need not be there yet. */
    TxLoop(Connection &connection, const TransferOwner &owner,
           const Poller &poller, RoomQueue &room, const PathSet &paths,
           const TransferMemory &memory, TxStaging &staging,
           TransferQueue &transfers, ChunkSelector &selector, ChunkTx &chunks,
           Retransmission &retransmission, NearTx &near)
        : connection_(connection), owner_(owner), poller_(poller), room_(room),
          paths_(paths), memory_(memory), staging_(staging),
          transfers_(transfers), selector_(selector), chunks_(chunks),
          retransmission_(retransmission), near_(near)
    {
    }
    ~TxLoop() { room_.leave(*this); }
    TxLoop(const TxLoop &)            = delete;
    TxLoop &operator=(const TxLoop &) = delete;

    void pump() override;
    void pump_later() override
    {
        later_ = true;
        connection_.defer();
    }
    void room_again() override;
    void transfer_ended() override;
    void await_room() override { room_.wait(*this); }
    void starve() override;
    bool idle() const override
    {
        return chunks_.in_flight() + staging_.copying() == 0;
    }
    void on_room() override { pump(); }

    /** Something waits for a path, and none was whole. */
    bool starves() const { return starved_ && !transfers_.empty(); }
    /** Does what pump() could not do where it was called. From progress only. */
    void run_deferred();

private:
    void send_waiting();
    void look_at_end();

    Connection          &connection_;
    const TransferOwner &owner_;
    const Poller        &poller_;
    RoomQueue           &room_;
    const PathSet       &paths_;
    const TransferMemory &memory_;
    TxStaging           &staging_;
    TransferQueue       &transfers_;
    ChunkSelector       &selector_;
    ChunkTx             &chunks_;
    Retransmission      &retransmission_;
    NearTx              &near_;
    bool                 pumping_ = false;
    bool                 again_   = false; /* pump() was called in it */
    bool                 later_   = false; /* it is to run from progress */
    bool                 starved_ = false;
};

} // namespace fuselink

#endif
