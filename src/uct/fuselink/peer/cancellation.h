/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_PEER_CANCELLATION_H
#define FUSELINK_PEER_CANCELLATION_H

#include "../conn/connection.h"
#include "../conn/order_tracker.h"
#include "../conn/pending_queue.h"
#include "../conn/user.h"
#include "../host/host.h"
#include "../rma/open_gets.h"
#include "../rma/target.h"
#include "../transfer/bulk.h"
#include "../ucx.h"

namespace fuselink {

/**
 * A user gives its operations up, all of them (flush with cancel): what is under
 * way arrives, or the connection fails. Those of the connection's other users go
 * on.
 *
 * What keys that may end have the peer read arrives, too, if it does so soon, and nothing
 * of that kind is begun meanwhile, nor for a moment after: UCP destroys its endpoint then and
 * ends such keys, and its user may free the memory.
 *
 * One thread at a time (the worker's).
 */
class Cancellation {
public:
    Cancellation(Connection &conn, const Host &host, PendingQueue &pending,
                 OrderTracker &order, BulkSender &bulk, OpenGets &gets,
                 RmaTarget &target)
        : conn_(conn), host_(host), pending_(pending), order_(order),
          bulk_(bulk), gets_(gets), target_(target)
    {
    }

    /** UCT's contract. */
    ucs_status_t begin(PeerUser &user, uct_completion_t *comp);
    /** From progress: tells users of whose operations none is left, and gives
     *  a peer up that does not let go of them. `last`: nothing more will arrive. */
    void check(bool last = false);

private:
    bool waits(const PeerUser &user);
    void pause();

    Connection   &conn_;
    const Host   &host_;
    PendingQueue &pending_;
    OrderTracker &order_;
    BulkSender   &bulk_;
    OpenGets     &gets_;
    RmaTarget    &target_;
    bool          paused_ = false; /* what is begun of that, */
    sched::Nanos  paused_until_;   /* with no user that cancels */
};

} // namespace fuselink

#endif
