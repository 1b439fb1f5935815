/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_CONN_ENDPOINT_CHECK_H
#define FUSELINK_CONN_ENDPOINT_CHECK_H

#include "../rail/poller.h"
#include "../ucx.h"

#include <cstdint>

namespace fuselink {

/** Has `comp` called when the other end has acknowledged all that the endpoint was given;
 *  if nothing is under way, behind a write of no bytes. As uct_ep_flush(): UCS_OK if it
 *  has by now, UCS_INPROGRESS, or an error, and `comp` is not called. Not from a rail's
 *  callback. */
ucs_status_t await_other_end(uct_ep_h ep, uct_completion_t &comp);

/**
 * Asks the other end of an endpoint to acknowledge what it was given so far: the NIC of
 * a reliable connection, UCX's thread behind datagrams. No program there need run.
 *
 * The endpoint may be destroyed, and be another one the next time; this outlives it.
 * One thread at a time (the worker's).
 */
class EndpointCheck {
public:
    EndpointCheck() = default;
    EndpointCheck(const EndpointCheck &)            = delete;
    EndpointCheck &operator=(const EndpointCheck &) = delete;

    /** Asks, as await_other_end(). False if an answer is still due, perhaps of another
     *  endpoint, or there is no room, or it breaks: then nothing is asked.
     *  `poll_index`: of its interface, in the poller. `answered` is set when an answer
     *  comes, unless that was there at once, and outlives this. */
    bool begin(uct_ep_h ep, Poller &poller, unsigned poll_index, bool *answered = nullptr);

    /** An answer is due. */
    bool under_way() const { return poller_ != nullptr; }
    /** How many have come, since the beginning. */
    uint32_t answers() const { return answers_; }

private:
    static void on_end(uct_completion_t *comp);

    uct_completion_t comp_{}; /* first: UCX gives back a pointer to it */
    Poller          *poller_ = nullptr;
    unsigned         index_  = 0; /* of what is held there */
    uint32_t         answers_ = 0;
    bool            *answered_ = nullptr; /* may be null */
};

} // namespace fuselink

#endif
