/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TRANSFER_UNACKED_CHUNKS_H
#define FUSELINK_TRANSFER_UNACKED_CHUNKS_H

#include "../fifo.h"

#include <cstddef>
#include <cstdint>

namespace fuselink {

struct Chunk;

/**
 * Chunks of one path that the peer is to acknowledge, in the order in which they
 * were sent, which is that of acknowledgements.
 *
 * What the peer says may be hostile: only the number that is next takes a chunk out,
 * and a chunk is given out once. Accounting alone; one thread at a time.
 */
class UnackedChunks {
public:
    bool   empty() const { return chunks_.empty(); }
    size_t size() const { return chunks_.size(); }

    /** `number`: its number on the path. */
    void push(uint32_t number, Chunk &chunk)
    {
        chunks_.push_back({number, &chunk});
    }

    /** The peer acknowledges this number: the chunk, if it is the next one, else
     *  nullptr: it was acknowledged already, or was not sent, or others are before
     *  it. */
    Chunk *acknowledge(uint32_t number)
    {
        return !chunks_.empty() && chunks_.front().number == number ? take() :
                                                                      nullptr;
    }

    /** The first one, which nobody will acknowledge; only if not empty(). */
    Chunk *take()
    {
        Chunk *chunk = chunks_.front().chunk;
        chunks_.pop_front();
        return chunk;
    }

    /** Calls fn(Chunk &) for each, in order. */
    template <typename Fn> void for_each(Fn &&fn) const
    {
        for (const Entry &entry : chunks_) {
            fn(*entry.chunk);
        }
    }

private:
    struct Entry {
        uint32_t number;
        Chunk   *chunk;
    };

    Fifo<Entry> chunks_;
};

} // namespace fuselink

#endif
