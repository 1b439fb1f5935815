/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TRANSFER_CHUNK_TX_H
#define FUSELINK_TRANSFER_CHUNK_TX_H

#include "../conn/connection.h"
#include "../fifo.h"
#include "../pool.h"
#include "../rail/poller.h"
#include "../ucx.h"
#include "chunk.h"
#include "chunk_trace.h"
#include "completion_notices.h"
#include "message_tx.h"
#include "path_recovery.h"
#include "path_room.h"
#include "pump.h"
#include "retransmit_queue.h"
#include "rma_tx.h"
#include "send_buffers.h"
#include "slot_borrowing.h"
#include "transfer_queue.h"
#include "transfer_trials.h"
#include "tx_decision.h"
#include "tx_staging.h"

namespace fuselink {

/**
 * Chunks that are on their way to one peer: posts them by the method that was
 * chosen, and sees to it that each ends once.
 *
 * A chunk counts in in_flight(), on its path and in its transfer's `outstanding`
 * from before it is posted until it has arrived, or its path has broken. Then it is
 * in Path::lost, and counts in its transfer only, until the peer is drained (what is read
 * over a queue pair: until our end is gone).
 *
 * One thread at a time (the worker's).
 */
class ChunkTx final : public PathRoom::Sender {
public:
    /** All outlive this. */
    ChunkTx(Connection &connection, uint64_t own, Poller &poller,
            PathSet &paths, PathRecovery &recovery, PathRoom &room,
            const TransferMemory &memory, SlotBorrowing &slots,
            TxStaging &staging, TransferQueue &transfers, TransferTrials &trials,
            SendBuffers &buffers, const ChunkTrace &trace, Pump &pump)
        : connection_(connection), poller_(poller), recovery_(recovery),
          room_(room), memory_(memory), slots_(slots), staging_(staging),
          transfers_(transfers), trials_(trials), buffers_(buffers),
          pump_(pump), trace_(trace), rma_(memory, slots),
          messages_(connection, own, paths, recovery, room, memory),
          notices_(connection, paths, recovery, room)
    {
    }
    ChunkTx(const ChunkTx &)            = delete;
    ChunkTx &operator=(const ChunkTx &) = delete;

    /** The next bytes of the transfer, or, if it is not null, those of a segment
     *  of it that was lost. False if the path did not take them. May end the
     *  transfer. */
    bool post(Transfer &transfer, const TxDecision &decision,
              const RetransmitSegment *segment = nullptr);

    bool send_waiting(Path &path) override
    {
        return notices_.send(path) && messages_.send(path);
    }

    /** The peer has, or has not, got a chunk that went by messages. Untrusted; a
     *  chunk ends once, however often that is said. */
    void on_ack(const wire::ChunkAck &ack);

    /** Chunks that are under way. */
    size_t in_flight() const { return in_flight_; }

    /* For what was lost with its path. */

    /** The path broke, and our end of it is gone: its chunks let go of bounce
     *  buffers. What is sent again is copied again. */
    void release_staging(Path &path);
    /** The same: takes what our NIC was to read. Nobody has to confirm that no more of
     *  it comes. */
    Fifo<Chunk *> take_lost_reads(Path &path);
    /** The peer is drained, as in CompletionNotices::send_unseen(): takes all
     *  chunks out of the path that were on their way there. */
    Fifo<Chunk *> take_lost(Path &path, uint32_t seen);
    /** The end of one of these. */
    void free(Chunk &chunk)
    {
        staging_.release(chunk.staged);
        pool_.give_back(chunk);
    }

    /** The connection has failed: ends what nobody will acknowledge any more, and
     *  what was lost. What a NIC has ends by itself. */
    void abandon(Path &path, ucs_status_t status);
    /** A path broke that may have had bytes of a get in it. */
    bool broken() const { return broken_; }

private:
    Chunk       &make(Transfer &transfer, const TxDecision &decision,
                      const RetransmitSegment *segment);
    ucs_status_t hand_to_rail(Chunk &chunk, TxMethod method);
    ucs_status_t post_to_slot(Chunk &chunk);
    void         posted(Chunk &chunk, const TxDecision &decision,
                        bool retransmits);
    void         not_posted(Chunk &chunk, ucs_status_t status);
    bool         lose(Chunk &chunk);
    void         off_nic(const Chunk &chunk);
    void         off_path(Chunk &chunk, bool arrived);
    void         done(Chunk &chunk);
    void         put_done(Chunk &chunk);
    void         slot_step(Chunk &chunk, ucs_status_t status);

    static void on_chunk(uct_completion_t *comp);
    static void on_put(uct_completion_t *comp);

    Connection       &connection_;
    Poller           &poller_;
    PathRecovery     &recovery_;
    PathRoom         &room_;
    const TransferMemory &memory_;
    SlotBorrowing    &slots_;
    TxStaging        &staging_;
    TransferQueue    &transfers_;
    TransferTrials   &trials_;
    SendBuffers      &buffers_;
    Pump             &pump_;
    ChunkTrace        trace_;
    RmaTx             rma_;
    MessageTx         messages_;
    CompletionNotices notices_;
    /* A chunk is posted per few hundred kB: an allocation each would still cost
     * more than the decision. */
    Pool<Chunk>       pool_;
    size_t            in_flight_ = 0;
    bool              broken_    = false;
};

} // namespace fuselink

#endif
