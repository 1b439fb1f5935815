/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_RX_SLOT_LENDER_H
#define FUSELINK_RX_SLOT_LENDER_H

#include "../conn/connection.h"
#include "../conn/peer_registry.h"
#include "../staging/slots.h"
#include "../rail/rails.h"
#include "near_pools.h"

#include <optional>
#include <vector>

namespace fuselink {

/** A slot that a peer has filled. */
struct FilledSlot {
    uint32_t  slot;
    NearPool *pool; /* null: it is of the host's memory */
};

/**
 * Slots of the host's memory, and of other GPUs', that one peer may fill with data which
 * goes on to a GPU of this process: it is given credits for slots, and uses one with each
 * chunk. Whoever is over the quota is asked to give some back.
 *
 * What the peer says is untrusted. One thread at a time (the worker's).
 */
class SlotLender {
public:
    /** @param slots null if no memory of GPUs is taken */
    SlotLender(Connection &conn, Slots *slots, NearPools &near, const Rails &rails,
               const PeerRegistry &others)
        : conn_(conn), slots_(slots), near_(near), rails_(rails), others_(others)
    {
    }
    SlotLender(const SlotLender &)            = delete;
    SlotLender &operator=(const SlotLender &) = delete;

    /* Messages of the peer, of these types. */
    void on_ask(const void *data, size_t length);  /* wire::SlotAsk */
    void on_back(const void *data, size_t length); /* wire::SlotBack */

    /** Data for the GPU comes by this NIC (NicMemory's number) and over the host's memory:
     *  lends slots beside the NIC, if there are some and the peer has none. */
    void lend_near(unsigned nic);

    /** Size of the slots of a pool, as the peer calls it; 0: there is none. */
    size_t slot_size(uint32_t pool) const;
    /** The peer says that it has filled a slot. None if it must not. */
    [[nodiscard]] std::optional<FilledSlot> fill(uint32_t pool, const SlotCredit &loan);

    /** At the end of the connection, when its endpoints are closed and nothing
     *  is in a slot: what the peer may still write to is not used again.
     *  @param stopped the peer is known to write nothing here any more
     *  @param closing the interface closes, and its slots go as well */
    void end(bool stopped, bool closing);

private:
    void grant(uint32_t pool, uint64_t base, size_t size, const RegionKey &key,
               const std::vector<SlotCredit> &loans);
    bool may_still_write(bool to_gpus) const;
    void end_near(bool stopped);

    Connection         &conn_;
    Slots              *slots_;
    NearPools          &near_;
    const Rails        &rails_;
    const PeerRegistry &others_;
};

} // namespace fuselink

#endif
