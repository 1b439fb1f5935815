/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TRANSFER_MESSAGE_TX_H
#define FUSELINK_TRANSFER_MESSAGE_TX_H

#include "../conn/connection.h"
#include "../wire/messages.h"
#include "path_recovery.h"
#include "path_room.h"
#include "path_set.h"
#include "transfer_memory.h"

#include <cstdint>

namespace fuselink {

/**
 * Chunks that go by active messages, in parts, and what tells the peer of those in
 * its slots. Each is acknowledged, in the order of its path.
 *
 * A chunk is in Path::parts until its last part is sent, then in Path::unacked.
 *
 * One thread at a time (the worker's).
 */
class MessageTx {
public:
    /** All outlive this. `own`: the identity of this interface. */
    MessageTx(Connection &connection, uint64_t own, PathSet &paths,
              PathRecovery &recovery, PathRoom &room, const TransferMemory &memory)
        : connection_(connection), own_(own), paths_(paths),
          recovery_(recovery), room_(room), memory_(memory)
    {
    }
    MessageTx(const MessageTx &)            = delete;
    MessageTx &operator=(const MessageTx &) = delete;

    /** Sends what the path has room for. False if it has no more. */
    bool send(Path &path);

    /** The chunk that the peer acknowledges, which is the caller's from now on;
     *  nullptr if it is not the next one of a path, as with an acknowledgement
     *  that comes twice: `ack` is untrusted. */
    Chunk *take_acknowledged(const wire::ChunkAck &ack);

private:
    Connection    &connection_;
    const uint64_t own_;
    PathSet       &paths_;
    PathRecovery  &recovery_;
    PathRoom      &room_;
    const TransferMemory &memory_;
};

} // namespace fuselink

#endif
