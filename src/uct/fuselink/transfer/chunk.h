/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TRANSFER_CHUNK_H
#define FUSELINK_TRANSFER_CHUNK_H

#include "../relay/near_slots.h"
#include "../staging/slot_ledger.h"
#include "../ucx.h"
#include "transfer.h"

namespace fuselink {

class ChunkTx;
class TxStaging;
struct Path;

/** A part of a transfer from memory of a GPU, in a bounce buffer of the host's, or in a
 *  slot of another GPU, for NICs beside that: chunks are cut from it when it is there.
 *  Belongs to a TxStaging. */
struct StagingSegment {
    uct_completion_t comp; /* first: UCX gives back a pointer to it */
    TxStaging       *owner;
    Transfer        *transfer;
    size_t           offset; /* in the transfer */
    size_t           length;
    char            *slot;
    NearSlots::Slot  near;   /* the same, if it is of another GPU */
    unsigned         users;  /* chunks, and segments to retransmit, that are in
                                it */
    bool             copying;
    bool             failed; /* of another GPU: the bytes are not there */
    bool             queued; /* of another GPU: some wait for a NIC */
    bool             passed; /* nothing more will be cut from it */
    StagingSegment  *next;   /* of the transfer, or free */
};

/** A part of a transfer that is on its way by one path. Belongs to a ChunkTx. */
struct Chunk {
    uct_completion_t comp; /* first: UCX gives back a pointer to it */
    ChunkTx         *owner;
    Transfer        *transfer;
    Path            *path;
    size_t           length;
    Chunk           *next_free;
    uint64_t         traced; /* its number in the trace; 0: none */
    StagingSegment  *staged; /* it is of; null: memory of the host */
    size_t           offset; /* in the transfer */
    uint32_t         number; /* on its path, of those that tell the peer */
    uint8_t          tries;  /* paths that broke with it, and not with their wire */
    bool             by_messages; /* only then what follows */
    size_t           sent;
    bool             in_slot; /* lent by the peer; only then what follows */
    bool             left;    /* the NIC has done its part */
    uint8_t          waits;   /* for its put, for the peer's acknowledgement */
    SlotCredit       loan;
    uint32_t         pool;    /* of this */
    ucs_status_t     status;

    /** Its bytes, as NICs and messages take them. */
    const char *data() const
    {
        return staged != nullptr ? staged->slot + (offset - staged->offset) :
                                   transfer->buffer + offset;
    }
    /** Its bytes are written in place for a get of the peer's, who hears of it
     *  from a completion notice. */
    bool serves_in_place() const
    {
        return transfer->kind == Transfer::Kind::ServeGet && !by_messages;
    }
};

} // namespace fuselink

#endif
