/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_CONN_USER_H
#define FUSELINK_CONN_USER_H

#include "../sched/units.h"
#include "../ucx.h"
#include "connection.h"

#include <vector>

namespace fuselink {

/** What a user's endpoint leaves with its peer. Several endpoints may share
 *  one peer; each owns its pending queue, its operations and its error
 *  report. */
struct PeerUser {
    uct_ep_h         ep = nullptr;
    ucs_queue_head_t pending;
    uint64_t         queued = 0; /* requests that ever came into it */
    uint64_t         taken  = 0; /* and left it */
    uint64_t         fenced = 0; /* `queued` at the last fence */
    bool             aside  = false; /* UCP took requests out */

    /* Operations that use its memory and have not ended. */
    unsigned open = 0;

    /* Flush with cancel, while operations are open. */
    bool                            cancelling = false;
    sched::Nanos                    cancel_until;
    std::vector<uct_completion_t *> cancels; /* to be told */
};

/** One operation of a user, if it is still there, has ended. Call it before the
 *  user hears of it, who may destroy the endpoint then. */
inline void end_user_op(PeerUser *user, Connection &conn)
{
    if (user != nullptr && --user->open == 0 && user->cancelling) {
        conn.defer();
    }
}

} // namespace fuselink

#endif
