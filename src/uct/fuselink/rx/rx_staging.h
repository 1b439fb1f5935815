/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_RX_RX_STAGING_H
#define FUSELINK_RX_RX_STAGING_H

#include "../conn/connection.h"
#include "../relay/gpu_copies.h"
#include "../rma/open_gets.h"
#include "../ucx.h"
#include "../wire/messages.h"
#include "near_pools.h"
#include "slot_lender.h"

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <utility>

namespace fuselink {

/**
 * Chunks that come from one peer for memory of GPUs, put into slots or by
 * messages, whose parts are put together in a slot: they are copied to the GPU,
 * and then acknowledged, on each path in the order in which they came.
 *
 * What a peer says of memory does not matter here: who calls has looked at its
 * own registrations. One thread at a time (the worker's).
 */
class RxStaging final : public OpenGets::Copies {
public:
    RxStaging(Connection &conn, OpenGets &gets, GpuCopies &copies, NearPools &near)
        : conn_(conn), gets_(gets), copies_(copies), near_(near)
    {
        gets.set_copies(*this);
    }
    /** Ends what is being copied. */
    ~RxStaging() { wait(); }

    /** A part that goes on with a chunk is for the same operation. */
    bool goes_on(const wire::DataPart &part, const wire::OpId *get) const;
    /** A part, for `to` in memory of a GPU, that was checked. `get` is its
     *  operation, if it is of one of ours. */
    void part(const wire::DataPart &part, char *to, const void *data,
              size_t length, const wire::OpId *get);
    /** A chunk that is whole, in a slot that was lent to the peer and that it
     *  has filled. */
    void in_slot(const wire::DataPart &part, char *to, const FilledSlot &slot,
                 size_t length, const wire::OpId *get);
    /** The same, or in no slot, with nothing to copy to a GPU. */
    void no_copy(const wire::DataPart &part, const std::optional<FilledSlot> &slot,
                 ucs_status_t status);
    /** The chunk that this part is of has failed, or is for other memory. Its
     *  acknowledgement waits for those before it. False if there are none. */
    bool after(const wire::DataPart &part, ucs_status_t status);

    /** Nothing more comes on a path: drops what has come of a chunk that is not
     *  whole. True when all others were copied and acknowledged. */
    bool settle(uint8_t rail, uint8_t remote);

    /** Returns when nothing is being copied any more. */
    void wait() override;
    /** The same, and nothing more comes. */
    void end();

private:
    struct Chunk;
    struct Copy { /* of a slot */
        uct_completion_t comp; /* first: UCX gives back a pointer to it */
        RxStaging       *staging;
        Chunk           *chunk;
        char            *slot;
        char            *to;
        size_t           length;
    };
    struct Chunk {
        uint32_t     number = 0;
        uint8_t      rail = 0, remote = 0; /* its path */
        bool         whole = false;        /* the last part has come */
        ucs_status_t status = UCS_OK;
        unsigned     copies = 0;           /* under way */
        bool         of_get = false;
        wire::OpId   get{};
        std::optional<FilledSlot> lent;    /* the peer's slot that it is in */
        bool         kept = false;         /* by the peer */
        char        *slot = nullptr;       /* that parts are put together in */
        char        *to = nullptr;         /* where that goes */
        size_t       filled = 0;
        size_t       counted = 0;          /* bytes that its get has */
    };
    using Queue = std::deque<std::unique_ptr<Chunk>>;

    Queue &queue_of(const wire::DataPart &part);
    static Chunk &add(Queue &queue, const wire::DataPart &part,
                      const wire::OpId *get = nullptr);
    /* Whose slot it is in; null: none, or one of the host's memory. */
    static NearPool *pool_of(const Chunk &chunk)
    {
        return chunk.lent ? chunk.lent->pool : nullptr;
    }
    void copy(Chunk &chunk);
    ucs_status_t begin(Copy &copy);
    bool copy_by_cpu(const Copy &copy);
    void end(Copy *copy);
    void emptied(Chunk &chunk, char *slot);
    void landed(Chunk &chunk, size_t length);
    void drop_slot(Chunk &chunk);
    Get *find_get(const Chunk &chunk) const;
    void answer(Queue &queue);
    static void on_copied(uct_completion_t *comp);

    Connection &conn_;
    OpenGets   &gets_;
    GpuCopies  &copies_;
    NearPools  &near_;
    size_t      copying_ = 0; /* copies under way */
    std::map<std::pair<uint8_t, uint8_t>, Queue> open_;
};

} // namespace fuselink

#endif
