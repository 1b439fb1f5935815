/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TRANSFER_SLOT_BORROWING_H
#define FUSELINK_TRANSFER_SLOT_BORROWING_H

#include "../conn/connection.h"
#include "../memory/remote_key.h"
#include "../ucx.h"
#include "../wire/messages.h"
#include "key_source.h"
#include "path.h"
#include "slot_credits.h"

#include <memory>
#include <vector>

namespace fuselink {

/**
 * Slots that the peer lends, through which data goes to memory of its GPU: asks for credits,
 * takes grants, gives back, and has the NICs' keys for them. There is a pool of them in the
 * memory of its host, and may be others in GPUs beside NICs of its, which only these reach
 * and which are better for them: what is there does not go over the host's memory.
 *
 * One thread at a time (the worker's).
 */
class SlotBorrowing {
public:
    /** All outlive this. */
    SlotBorrowing(Connection &connection, KeySource &keys)
        : connection_(connection), keys_(keys), pools_(1)
    {
    }
    SlotBorrowing(const SlotBorrowing &)            = delete;
    SlotBorrowing &operator=(const SlotBorrowing &) = delete;

    /** Of which pool a chunk on that path takes a slot, now or when one is free: it is of no use
     *  if nothing is held there. */
    uint32_t pool_for(const Path &path);

    SlotCredits       &credits(uint32_t pool) { return pools_[pool].credits; }
    const SlotCredits &credits(uint32_t pool) const { return pools_[pool].credits; }

    /** Data for a GPU is to go over so many paths: asks for slots unless there are
     *  enough. Until the answer is here, and without slots, it goes by messages. */
    void ask(size_t paths);

    /** The messages' bodies are untrusted. True if what waits for slots may go
     *  on. */
    bool on_grant(const void *data, size_t length);
    void on_recall(const void *data, size_t length);

    /** Gives back what is more than we may keep; filled ones follow when they are
     *  empty. */
    void give_back();

    /** The peer has emptied a slot that we filled; `kept`: it was still ours then, which a recall
     *  may have ended that was sent before this was said. */
    void emptied(uint32_t pool, const SlotCredit &loan, bool kept)
    {
        pools_[pool].credits.emptied(loan, kept);
        give_back(pool);
    }

    /** Asks for the key by which the NIC of the path reaches the pool's slots, unless that
     *  was done. */
    void request_key(const Path &path, uint32_t pool);
    /** Slots of a GPU are lent, and whether the NIC reaches them will be known soon. */
    bool awaits_key(const Path &path) const;
    /** That key; UCT_INVALID_RKEY if there is none (yet). Only if there are
     *  slots. */
    uct_rkey_t key(const Path &path, uint32_t pool);

private:
    struct Pool {
        SlotCredits              credits;
        std::shared_ptr<NicKeys> nic_keys; /* once there are slots */
    };

    bool bring_forth(uint32_t pool);
    void give_back(uint32_t pool);

    Connection       &connection_;
    KeySource        &keys_;
    std::vector<Pool> pools_; /* the first is of the host's memory */
};

} // namespace fuselink

#endif
