/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TRANSFER_CHUNK_SELECTOR_H
#define FUSELINK_TRANSFER_CHUNK_SELECTOR_H

#include "../conn/connection.h"
#include "../host/host.h"
#include "../load/load_view.h"
#include "../sched/policy.h"
#include "../ucx.h"
#include "bulk_context.h"
#include "load_query.h"
#include "path_recovery.h"
#include "path_set.h"
#include "path_wireup.h"
#include "plan_manager.h"
#include "pump.h"
#include "retransmit_queue.h"
#include "transfer_queue.h"
#include "transfer_trials.h"
#include "tx_decision.h"
#include "tx_methods.h"

namespace fuselink {

/**
 * Decides what becomes of a transfer's next bytes: which path takes them, by what
 * method, and how many. It shows the policy the paths in play, connects those that
 * are wanted, and cuts what the policy wants to what the method can.
 *
 * Bytes are bound to a path late, when it has room, so that a slow or busy rail
 * simply takes less.
 *
 * One thread at a time (the worker's).
 */
class ChunkSelector {
public:
    /** All outlive this. `traces`: TxDecision::seen is wanted. */
    ChunkSelector(Connection &connection, const Host &host, PathSet &paths,
                  PathWireup &wireup, PathRecovery &recovery,
                  TxMethods &methods, SlotBorrowing &slots,
                  const TransferQueue &transfers, TransferTrials &trials,
                  LoadView &loads, PlanManager &plans,
                  const BulkSettings &settings, bool traces, Pump &pump)
        : connection_(connection), host_(host), paths_(paths), wireup_(wireup),
          recovery_(recovery), methods_(methods), slots_(slots),
          transfers_(transfers), trials_(trials), loads_(loads),
          plans_(plans), settings_(settings), traces_(traces), pump_(pump),
          query_(connection, paths)
    {
    }
    ChunkSelector(const ChunkSelector &)            = delete;
    ChunkSelector &operator=(const ChunkSelector &) = delete;

    /** The transfer's next bytes, or, if it is not null, those of a segment of it
     *  that was lost. May fail the connection: then the transfer may have ended,
     *  and the verdict is Wait. What is in the answer holds until the next
     *  call. */
    TxDecision next(Transfer &transfer,
                    const RetransmitSegment *segment = nullptr);

    /** What others bring to the peer's NICs. */
    LoadQuery &load_query() { return query_; }
    /** Nothing is on its way to the peer, or will be soon: tells it so. */
    void       say_farewell() { query_.ask(0, host_.now()); }

private:
    struct Candidates;

    static const StagingSegment *near_of(const RetransmitSegment *segment);

    void   refresh(sched::Nanos now);
    bool   collect(Transfer &transfer, const RetransmitSegment *segment,
                   bool copied, sched::Nanos now, Candidates &candidates);
    void   show(Path &path, bool open, sched::Nanos now,
                Candidates &candidates);
    sched::Bytes least(const Transfer &transfer, sched::Nanos now,
                       const Candidates &candidates);
    TxDecision::Verdict without_candidates(const Transfer &transfer,
                                           bool is_segment);
    size_t length(const Transfer &transfer, const TxDecision &decision,
                  size_t wanted, size_t window, size_t remaining,
                  bool is_segment) const;

    Connection           &connection_;
    const Host           &host_;
    PathSet              &paths_;
    PathWireup           &wireup_;
    PathRecovery         &recovery_;
    TxMethods            &methods_;
    SlotBorrowing        &slots_;
    const TransferQueue  &transfers_;
    TransferTrials       &trials_;
    LoadView             &loads_;
    PlanManager          &plans_;
    const BulkSettings   &settings_;
    const bool            traces_;
    Pump                 &pump_;
    LoadQuery             query_;
    sched::PathView       seen_; /* of the last choice, if traced */
};

} // namespace fuselink

#endif
