/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_RX_SLOT_LENDER_H
#define FUSELINK_RX_SLOT_LENDER_H

#include "../conn/connection.h"
#include "../conn/peer_registry.h"
#include "../rail/rails.h"
#include "../relay/gpu_copies.h"
#include "../rma/open_gets.h"
#include "../wire/messages.h"
#include "rx_path_ends.h"
#include "rx_staging.h"
#include "rx_target.h"

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
    SlotLender(Connection &conn, GpuCopies &copies, const Rails &rails,
               const PeerRegistry &others, OpenGets &gets, RxPathEnds &paths,
               RxTargets &targets, RxStaging &staging)
        : conn_(conn), copies_(copies), rails_(rails), others_(others),
          gets_(gets), paths_(paths), targets_(targets), staging_(staging)
    {
    }
    SlotLender(const SlotLender &)            = delete;
    SlotLender &operator=(const SlotLender &) = delete;

    /* Messages of the peer, of these types. */
    void on_ask(const void *data, size_t length);  /* wire::SlotAsk */
    void on_back(const void *data, size_t length); /* wire::SlotBack */

    /** The peer has put a chunk into a slot. */
    void on_full(const wire::DataPart &part, const wire::InSlot &in);

    /** At the end of the connection, when its endpoints are closed: what the
     *  peer may still write to is not used again.
     *  @param stopped the peer is known to write nothing here any more
     *  @param closing the interface closes, and its slots go as well */
    void end(bool stopped, bool closing);

private:
    void recall();
    bool may_still_write() const;

    Connection         &conn_;
    GpuCopies          &copies_;
    const Rails        &rails_;
    const PeerRegistry &others_;
    OpenGets           &gets_;
    RxPathEnds            &paths_;
    RxTargets          &targets_;
    RxStaging          &staging_;
};

} // namespace fuselink

#endif
