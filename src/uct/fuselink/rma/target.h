/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_RMA_TARGET_H
#define FUSELINK_RMA_TARGET_H

#include "../conn/connection.h"
#include "../conn/control_channel.h"
#include "../fifo.h"
#include "../rail/rails.h"
#include "../transfer/bulk.h"
#include "../wire/messages.h"
#include "local_memory.h"

#include <vector>

namespace fuselink {

/**
 * What one peer asks of this process's memory: gets, which are served in order as
 * far as there is room for the answers and the program has been told of what is in
 * front of them behind a fence, and small puts.
 *
 * All of it is untrusted. One thread at a time (the worker's).
 */
class RmaTarget {
public:
    RmaTarget(Connection &conn, ControlChannel &channel, BulkSender &bulk,
              LocalMemory &memory, const Rails &rails)
        : conn_(conn), channel_(channel), bulk_(bulk), memory_(memory),
          rails_(rails)
    {
    }
    RmaTarget(const RmaTarget &)            = delete;
    RmaTarget &operator=(const RmaTarget &) = delete;

    /* Messages of the peer, of these types. */
    void on_get(const void *data, size_t length);    /* wire::GetReq */
    void on_cancel(const void *data, size_t length); /* wire::GetCancel */
    void on_put(const void *data, size_t length);    /* wire::PutData */

    /** There may be room for answers, or the program there: serves gets that wait. */
    void serve_waiting();
    /** Gets with kGetConfirm are not begun, or are again. */
    void pause();
    void resume();
    /** Ends a get that is not served, or no further. */
    void refuse(const wire::OpId &op, ucs_status_t status);
    /** All of a get was sent: says whether its memory is still there. */
    void confirm(const Transfer &get);
    /** Gets that wait are not served any more, and nobody is told. */
    void clear()
    {
        waiting_.clear();
        paused_.clear();
    }

private:
    bool waits_for_program();
    void serve(const wire::GetReq &request);

    Connection              &conn_;
    ControlChannel          &channel_;
    BulkSender              &bulk_;
    LocalMemory             &memory_;
    const Rails             &rails_;
    Fifo<wire::GetReq>       waiting_; /* for room, or the program */
    std::vector<char>        answer_;  /* what a get reads, as long as wire::kMaxInlineGet */
    bool                     serving_ = false; /* inside serve_waiting() */
    bool                     pauses_ = false;
    Fifo<wire::GetReq>       paused_; /* until it does no more */
};

} // namespace fuselink

#endif
