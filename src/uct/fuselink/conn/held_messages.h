/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_CONN_HELD_MESSAGES_H
#define FUSELINK_CONN_HELD_MESSAGES_H

#include "message_log.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fuselink {

/**
 * Messages of a peer that came before others which were sent earlier, over another
 * lane: copies, until it is their turn. As in TCP's and `ud`'s queues of what is out
 * of order, the place of each says which one it is.
 *
 * What a peer may have on its way bounds what is held (MessageLog's bounds): more is
 * refused. One thread at a time.
 */
class HeldMessages {
public:
    struct Message {
        char    *data;
        uint32_t length;
        uint8_t  am_id; /* of the rail */
    };

    explicit HeldMessages(MessageMemory &memory) : memory_(memory) {}
    ~HeldMessages() { clear(); }
    HeldMessages(const HeldMessages &)            = delete;
    HeldMessages &operator=(const HeldMessages &) = delete;

    bool   any() const { return count_ != 0; }
    size_t bytes() const { return bytes_; }

    /** Holds the message that is `ahead` of the next one, at least 1. One that is here
     *  already is dropped. False: no peer of ours has so much on its way. */
    bool hold(size_t ahead, uint8_t am_id, const void *data, size_t length);

    /** The next one has been taken: the others are one nearer. */
    void pass();
    /** The one whose turn it is. Null: it is not here. */
    const Message *next() const
    {
        return count_ != 0 && slots_[begin_].block != nullptr ?
                   &slots_[begin_].message : nullptr;
    }
    /** The same, which counts as taken: the others are one nearer. It stays where it is
     *  until free(). Only if it is here. */
    struct Taken {
        Message               message;
        MessageMemory::Block *block;
    };
    Taken take();
    void  free(const Taken &taken) { release(taken.block); }

    void clear();

private:
    using Block = MessageMemory::Block;
    struct Slot {
        Block  *block = nullptr; /* that it is in; null: it is not here */
        Message message{};
    };

    /* The messages in a block; in front of them. */
    static size_t &users(Block *block)
    {
        return *reinterpret_cast<size_t *>(block->data());
    }
    size_t at(size_t ahead) const { return (begin_ + ahead) & (slots_.size() - 1); }
    void   grow(size_t ahead);
    /* Null: there is no more for them. */
    Block *room_for(size_t length);
    void   give_back(Block *block);
    void   release(Block *block);

    MessageMemory    &memory_;
    std::vector<Slot> slots_; /* a ring: a power of two, or none */
    size_t            begin_ = 0; /* the next one's place */
    Block            *last_  = nullptr; /* has room, perhaps */
    size_t            count_ = 0;
    size_t            bytes_ = 0;
    size_t            memory_bytes_ = 0; /* of blocks */
};

} // namespace fuselink

#endif
