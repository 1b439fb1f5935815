/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TRANSFER_COMPLETION_NOTICES_H
#define FUSELINK_TRANSFER_COMPLETION_NOTICES_H

#include "../conn/connection.h"
#include "../fifo.h"
#include "../wire/messages.h"
#include "path_recovery.h"
#include "path_room.h"
#include "path_set.h"

#include <cstdint>

namespace fuselink {

struct Chunk;

/**
 * Tells the peer of chunks of its gets that were written to its memory in place: a
 * notice follows each chunk on the same path.
 *
 * A notice is in Path::notices until the rail has taken it, and in Path::unseen
 * until a chunk behind it was acknowledged.
 *
 * One thread at a time (the worker's).
 */
class CompletionNotices {
public:
    /** All outlive this. */
    CompletionNotices(Connection &connection, PathSet &paths,
                      PathRecovery &recovery, PathRoom &room)
        : connection_(connection), paths_(paths), recovery_(recovery),
          room_(room)
    {
    }
    CompletionNotices(const CompletionNotices &)            = delete;
    CompletionNotices &operator=(const CompletionNotices &) = delete;

    /** The chunk was given to its path's rail just now. */
    void announce(const Chunk &chunk);
    /** It was acknowledged. */
    void acknowledged(const Chunk &chunk);

    /** Sends what the path has room for. False if it has no more. */
    bool send(Path &path);

    /** The path broke, and the peer is drained, who has heard of chunks below
     *  `seen`. Tells it of those that are in place of which it has not; none of
     *  `lost` is. */
    void send_unseen(Path &path, uint32_t seen,
                     const Fifo<Chunk *> &lost);

private:
    Connection   &connection_;
    PathSet      &paths_;
    PathRecovery &recovery_;
    PathRoom     &room_;
};

} // namespace fuselink

#endif
