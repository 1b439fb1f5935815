/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_PEER_MESSAGES_H
#define FUSELINK_PEER_MESSAGES_H

#include "../conn/connection.h"
#include "../conn/control_channel.h"
#include "../conn/lane_ops.h"
#include "../conn/pending_queue.h"
#include "../conn/user.h"
#include "../memory/region.h"
#include "../relay/gpu_copies.h"
#include "../ucx.h"

namespace fuselink {

/**
 * The user's active messages, but for the plain short ones: those have
 * ControlChannel::am_short() and am_bcopy(). They keep their order because all go
 * over the one lane.
 *
 * The operations are UCT's, with its contract. One thread at a time (the
 * worker's).
 */
class Messages {
public:
    /* Limits of a message without copying, beside those of the rails. */
    static constexpr size_t kMaxUserHeader = 504;
    static constexpr size_t kMaxIov        = 16;

    Messages(Connection &conn, ControlChannel &channel, PendingQueue &pending,
             LaneOps &ops, NicMemory &nics, GpuCopies &copies)
        : conn_(conn), channel_(channel), pending_(pending), ops_(ops),
          nics_(nics), copies_(copies)
    {
    }

    /* Of any id, and with an obstacle or without. */
    ucs_status_t am_short(uint8_t id, uint64_t header, const void *payload,
                          unsigned length);
    ssize_t      am_bcopy(uint8_t id, uct_pack_callback_t pack, void *arg,
                          unsigned flags);
    ucs_status_t am_zcopy(PeerUser &user, uint8_t id, const void *header,
                          unsigned header_len, const uct_iov_t *iov,
                          size_t iovcnt, unsigned flags,
                          uct_completion_t *comp);

private:
    ucs_status_t wrapped_short(uint8_t id, uint64_t header,
                               const void *payload, unsigned length);
    ucs_status_t am_copied(uint8_t id, const void *header,
                           size_t header_length, const uct_iov_t *iov,
                           size_t iovcnt);

    Connection     &conn_;
    ControlChannel &channel_;
    PendingQueue   &pending_;
    LaneOps        &ops_;
    NicMemory      &nics_;
    GpuCopies      &copies_;
};

} // namespace fuselink

#endif
