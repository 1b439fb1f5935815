/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_PEER_MESSAGES_H
#define FUSELINK_PEER_MESSAGES_H

#include "../conn/connection.h"
#include "../conn/control_channel.h"
#include "../conn/pending_queue.h"
#include "../memory/region.h"
#include "../relay/gpu_copies.h"
#include "../ucx.h"

namespace fuselink {

/**
 * The user's active messages, where there is more to them than to give them to the
 * ControlChannel. Those that UCT calls zcopy are copied as well: a message is kept
 * until the peer has acknowledged it, and its user would wait as long for memory of
 * his own.
 *
 * The operations are UCT's, with its contract. One thread at a time (the
 * worker's).
 */
class Messages {
public:
    /* Limits of a message without copying, beside those of the rails. */
    static constexpr size_t kMaxUserHeader = 504;
    static constexpr size_t kMaxIov        = 16;

    /** @param max_message bytes of the longest that is copied by UCT's rules */
    Messages(Connection &conn, ControlChannel &channel, PendingQueue &pending,
             GpuCopies &copies, size_t max_message)
        : conn_(conn), channel_(channel), pending_(pending), copies_(copies),
          max_message_(max_message)
    {
    }

    ucs_status_t am_short(uint8_t id, uint64_t header, const void *payload,
                          unsigned length);
    ssize_t      am_bcopy(uint8_t id, uct_pack_callback_t pack, void *arg);
    /** Is complete when it returns. */
    ucs_status_t am_zcopy(uint8_t id, const void *header, unsigned header_len,
                          const uct_iov_t *iov, size_t iovcnt);

private:
    Connection     &conn_;
    ControlChannel &channel_;
    PendingQueue   &pending_;
    GpuCopies      &copies_;
    const size_t    max_message_;
};

} // namespace fuselink

#endif
