/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "tx_loop.h"

namespace fuselink {

void TxLoop::pump()
{
    /* Completions and pending callbacks come back here from inside
     * ChunkTx::post(); one loop serves them all. */
    if (pumping_) {
        again_ = true;
        return;
    }
    if (!paths_.table_known() || transfers_.empty() || connection_.failed() ||
        owner_.bulk_held()) {
        return;
    }
    /* UCX's TCP goes on with what it has received when a completion returns,
     * and aborts if the connection broke meanwhile in a call of ours. */
    if (paths_.streams() && poller_.busy()) {
        pump_later();
        return;
    }
    pumping_ = true;
    do {
        again_ = starved_ = false;
        if (ucs_unlikely(retransmission_.waits())) {
            retransmission_.copy();
        }
        if (ucs_unlikely(staging_.wants_copies())) {
            staging_.copy_ahead();
        }
        if (ucs_unlikely(retransmission_.waits())) {
            retransmission_.send();
        }
        send_waiting();
    } while (again_ && !owner_.bulk_held()); /* a completion may have made a fence */
    pumping_ = false;
}

/* What no path that is left can carry, a get that NICs had begun which are away,
 * lets others pass. */
void TxLoop::send_waiting()
{
    const auto &waiting = transfers_.waiting();
    for (size_t passed = 0;
         passed < waiting.size() && !connection_.failed();) {
        Transfer &transfer = *waiting.front();
        if (!memory_.still_there(transfer)) {
            transfers_.stop(transfer, UCS_ERR_INVALID_ADDR);
            continue;
        }
        const TxDecision decision = selector_.next(transfer);
        switch (decision.verdict) {
        case TxDecision::Verdict::Send:
            passed = 0;
            chunks_.post(transfer, decision);
            break;
        case TxDecision::Verdict::Never:
            transfers_.hand_over_rest(transfer);
            break;
        case TxDecision::Verdict::Pass:
        case TxDecision::Verdict::Move:
            if (!near_.feed(transfer) && !connection_.failed()) {
                transfers_.defer_first();
                ++passed;
            }
            break;
        case TxDecision::Verdict::Wait:
            if (connection_.failed() || !near_.feed(transfer)) {
                return;
            }
            break;
        }
    }
}

void TxLoop::room_again()
{
    if (ucs_likely(room_.empty())) {
        pump();
    } else if (!transfers_.empty()) {
        room_.wait(*this); /* behind those who wait already */
    }
}

/* The peer was asked about what came, and nothing does any more. */
void TxLoop::look_at_end()
{
    if (ucs_unlikely(selector_.load_query().asked()) && idle() &&
        transfers_.backlog() == 0 && !connection_.failed()) {
        selector_.say_farewell();
    }
}

void TxLoop::transfer_ended()
{
    if (ucs_unlikely(selector_.load_query().asked())) {
        pump_later();
    }
}

void TxLoop::starve()
{
    starved_ = true;
    connection_.defer();
}

void TxLoop::run_deferred()
{
    if (later_) {
        later_ = false;
        look_at_end();
        pump();
    }
}

} // namespace fuselink
