/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_PEER_SEND_OPS_H
#define FUSELINK_PEER_SEND_OPS_H

#include "../pool.h"
#include "../conn/epochs.h"
#include "../ucx.h"

#include <optional>

namespace fuselink {

class Peer;
struct PeerUser;

/** A message, or a get of the control lane's own, that uses the user's
 *  memory. */
struct SendOp {
    uct_completion_t  comp; /* first; the rail's */
    Peer             *peer = nullptr;
    PeerUser         *user = nullptr; /* null once it is gone */
    uct_completion_t *user_comp = nullptr; /* may be null */
    SendOp           *next_free = nullptr;
    bool              live = false;
    std::optional<Epochs::Id> epoch; /* of a get */
};

/** Those of one peer. They stay where they are. */
class SendOps {
public:
    SendOp &begin()
    {
        SendOp &op = ops_.take();
        op.live    = true;
        ++open_;
        return op;
    }

    void end(SendOp &op)
    {
        op.live = false;
        ops_.give_back(op);
        --open_;
    }

    size_t open() const { return open_; }

    /** Calls fn(SendOp&) for each that is open. */
    template <typename Fn> void for_each(Fn &&fn)
    {
        ops_.for_each([&](SendOp &op) {
            if (op.live) {
                fn(op);
            }
        });
    }

private:
    Pool<SendOp> ops_;
    size_t       open_ = 0;
};

} // namespace fuselink

#endif
