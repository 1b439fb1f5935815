/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TRANSFER_TRANSFER_H
#define FUSELINK_TRANSFER_TRANSFER_H

#include "../conn/epochs.h"
#include "../memory/remote_key.h"
#include "../sched/policy.h"
#include "../ucx.h"
#include "../wire/messages.h"

#include <memory>

namespace fuselink {

class Region;
struct PeerUser;
struct StagingSegment;

/** What a peer asks to be sent. */
struct GetToServe {
    const void *buffer;
    size_t      length;
    uint64_t    remote;    /* where it goes, at the peer */
    wire::OpId  op;        /* the peer's name for it */
    RegionKey   region;    /* `buffer` is in it */
    bool        from_gpu;  /* memory of a GPU is at this end, */
    bool        to_gpu;    /* or at the other */
    RegionKey   to_region; /* `remote` is in it, if NICs may write there */
    bool        confirm;   /* the peer is to hear whether the memory was there */
};

/** A bulk operation that this process sends. Belongs to a TransferQueue. */
struct Transfer {
    enum class Kind : uint8_t {
        Put,
        Get,     /* our NICs read the peer's memory */
        ServeGet /* we write what the peer asked for */
    };

    /** What is copied of a GPU's memory for it: TxStaging's. */
    struct Staging {
        StagingSegment *first = nullptr; /* of the next bytes; a list */
        StagingSegment *last  = nullptr;
        size_t          until = 0; /* bytes whose copy has begun */
    };

    Kind              kind = Kind::Put;
    const char       *buffer = nullptr;
    uint64_t          remote = 0;
    size_t            length = 0;
    size_t            assigned = 0;    /* bytes given to paths, */
    size_t            tail = 0;        /* and those from here on: NICs that read
                                          a GPU's memory begin at the end */
    unsigned          outstanding = 0; /* chunks not acknowledged, copies,
                                          segments to retransmit */
    ucs_status_t      status = UCS_OK;
    PeerUser         *user = nullptr;  /* not ServeGet; null once it is gone */
    uct_completion_t *comp = nullptr;  /* not ServeGet: of the user, or null */
    wire::OpId        op{};            /* ServeGet: the peer's name for it */
    RegionKey         own_region;      /* ServeGet: `buffer` is in it */
    Epochs::Id        epoch = 0;       /* not ServeGet */
    Region           *region = nullptr; /* not ServeGet: `buffer` is in it */
    RegionKey         remote_region;    /* `remote` is in it; ServeGet: as in
                                           GetToServe */
    std::shared_ptr<NicKeys> keys;      /* the same, for NICs that need them */
    uint32_t          key_token = 0;    /* ServeGet: of its question for these */
    sched::Demand     demand;
    bool              from_gpu = false; /* `buffer` is memory of a GPU */
    bool              to_gpu = false;   /* `remote` is */
    bool              checked = false;  /* Put: the peer looks at the key for each part.
                                           ServeGet: it hears whether the memory was there */
    Staging           staging;         /* of a GPU */
    bool              queued = false;
    bool              starting = false; /* inside TransferQueue::begin() */
    bool              handed_over = false; /* meanwhile, to the peer */
    bool              live = false;

    /** The peer looks at the key for each part, and may have ended it, with which nothing
     *  is wrong with the connection. */
    bool   checks_key() const { return checked && kind == Kind::Put; }
    /** Bytes not given to a path yet. */
    size_t rest() const { return tail - assigned; }
    /** Nothing of it is left to do. */
    bool   over() const { return outstanding == 0 && assigned == tail; }
};

} // namespace fuselink

#endif
