/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TRANSFER_SLOT_BORROWING_H
#define FUSELINK_TRANSFER_SLOT_BORROWING_H

#include "../conn/connection.h"
#include "../memory/remote_key.h"
#include "../ucx.h"
#include "key_source.h"
#include "path.h"
#include "slot_credits.h"

#include <memory>

namespace fuselink {

/**
 * Slots of the peer's host memory, through which data goes to memory of its GPU:
 * asks for credits, takes grants, gives back, and has the NICs' keys for them.
 *
 * One thread at a time (the worker's).
 */
class SlotBorrowing {
public:
    /** All outlive this. */
    SlotBorrowing(Connection &connection, KeySource &keys)
        : connection_(connection), keys_(keys)
    {
    }
    SlotBorrowing(const SlotBorrowing &)            = delete;
    SlotBorrowing &operator=(const SlotBorrowing &) = delete;

    SlotCredits       &credits() { return credits_; }
    const SlotCredits &credits() const { return credits_; }

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

    /** Asks for the key by which the NIC of the path reaches the slots, unless that
     *  was done. */
    void request_key(const Path &path);
    /** That key; UCT_INVALID_RKEY if there is none (yet). Only if there are
     *  slots. */
    uct_rkey_t key(const Path &path);

private:
    Connection              &connection_;
    KeySource               &keys_;
    SlotCredits              credits_;
    std::shared_ptr<NicKeys> nic_keys_; /* once there are slots */
};

} // namespace fuselink

#endif
