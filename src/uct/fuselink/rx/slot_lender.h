/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_RX_SLOT_LENDER_H
#define FUSELINK_RX_SLOT_LENDER_H

#include "../conn/connection.h"
#include "../conn/peer_registry.h"
#include "../staging/slots.h"
#include "../rail/rails.h"

namespace fuselink {

/**
 * Slots of the host's memory that one peer may fill with data which goes on to a
 * GPU of this process: it is given credits for slots, and uses one with each
 * chunk. Whoever is over the quota is asked to give some back.
 *
 * What the peer says is untrusted. One thread at a time (the worker's).
 */
class SlotLender {
public:
    /** @param slots null if no memory of GPUs is taken */
    SlotLender(Connection &conn, Slots *slots, const Rails &rails,
               const PeerRegistry &others)
        : conn_(conn), slots_(slots), rails_(rails), others_(others)
    {
    }
    SlotLender(const SlotLender &)            = delete;
    SlotLender &operator=(const SlotLender &) = delete;

    /* Messages of the peer, of these types. */
    void on_ask(const void *data, size_t length);  /* wire::SlotAsk */
    void on_back(const void *data, size_t length); /* wire::SlotBack */

    /** The peer says that it has filled a slot. False if it must not. */
    [[nodiscard]] bool fill(const SlotCredit &loan);

    /** At the end of the connection, when its endpoints are closed and nothing
     *  is in a slot: what the peer may still write to is not used again.
     *  @param stopped the peer is known to write nothing here any more
     *  @param closing the interface closes, and its slots go as well */
    void end(bool stopped, bool closing);

private:
    void recall();
    bool may_still_write() const;

    Connection         &conn_;
    Slots              *slots_;
    const Rails        &rails_;
    const PeerRegistry &others_;
};

} // namespace fuselink

#endif
