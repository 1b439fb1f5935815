/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_CONN_MESSAGE_LOG_H
#define FUSELINK_CONN_MESSAGE_LOG_H

#include "../watch/traffic.h"
#include "../wire/messages.h"

#include <cstddef>
#include <cstdint>

namespace fuselink {

/**
 * Memory for the MessageLogs of one interface. What they do not use is kept for the
 * next, up to a bound, so that messages allocate nothing in the long run and a peer
 * without messages has none of it.
 *
 * One thread at a time.
 */
class MessageMemory {
public:
    struct Block {
        Block *next;
        size_t size; /* bytes of `data` */
        size_t used;
        char  *data() { return reinterpret_cast<char *>(this + 1); }
    };

    /** Of the blocks that are kept; a longer message gets a block of its own. Streams
     *  take 17 kB at once. */
    static constexpr size_t kBlock = 64 << 10;
    static constexpr size_t kMostKept = 32;

    MessageMemory() = default;
    ~MessageMemory();
    MessageMemory(const MessageMemory &)            = delete;
    MessageMemory &operator=(const MessageMemory &) = delete;

    /** A block with room for at least `size` bytes. */
    Block *take(size_t size);
    void   give_back(Block *block);

private:
    Block *kept_  = nullptr;
    size_t count_ = 0;
};

/**
 * Messages to one peer from when they are accepted until the peer has acknowledged
 * them, as they go on the wire, in the order of their numbers. A lane takes them
 * from here; when it breaks, rewind() has the next one take all again that were not
 * acknowledged.
 *
 *     acknowledged  |  sent  |  not sent  |  room
 *                 begin    cursor        end
 *
 * The idea is that of UCX's `ud` and of TCP itself: numbers, a window, a cumulative
 * acknowledgement. What it holds is bounded (has_room()); the bound is back-pressure.
 * One thread at a time.
 */
class MessageLog {
public:
    /** Bytes, and messages: well below half of what a MessageNumber tells apart. */
    static constexpr size_t kMaxBytes    = 1 << 20;
    static constexpr size_t kMaxMessages = 1 << 13;

    explicit MessageLog(MessageMemory &memory) : memory_(memory) {}
    ~MessageLog() { clear(); }
    MessageLog(const MessageLog &)            = delete;
    MessageLog &operator=(const MessageLog &) = delete;

    struct Record {
        uint32_t length;
        uint8_t  am_id; /* of the rail */
        char    *bytes() { return reinterpret_cast<char *>(this + 1); }
    };

    /** False: a message of so many bytes has to wait for acknowledgements. One that
     *  is alone always has room. */
    bool has_room(size_t length) const
    {
        return count_ == 0 || (bytes_ + length <= kMaxBytes &&
                               count_ < kMaxMessages);
    }

    /** Memory for the next message, of up to `most` bytes, aligned to 8. Only if
     *  has_room(). Whatever is done with it, commit() or the next reserve()
     *  follows. */
    char *reserve(size_t most)
    {
        const size_t need = room_for(most); /* what commit() may take */
        if (last_ == nullptr || last_->size - last_->used < need) {
            grow(need);
        }
        return end()->bytes();
    }
    /** It is the last one, with next_number(). The record stays where it is until
     *  it is acknowledged. */
    Record &commit(uint8_t am_id, size_t length)
    {
        Record &record = *end();
        record.length  = static_cast<uint32_t>(length);
        record.am_id   = am_id;
        last_->used   += room_for(length);
        bytes_        += length;
        ++count_;
        ++next_;
        return record;
    }
    /** The number of the message that is committed next. */
    wire::MessageNumber next_number() const { return next_; }

    /** Some are not sent. */
    bool    unsent() const { return sent_ != next_; }
    /** The first of them. */
    Record &front_unsent()
    {
        if (cursor_ == nullptr) {
            cursor_    = first_;
            cursor_at_ = begin_at_;
        }
        if (cursor_at_ == cursor_->used) { /* also a first block that is over */
            cursor_    = cursor_->next;
            cursor_at_ = 0;
        }
        return *at(cursor_, cursor_at_);
    }
    wire::MessageNumber first_unsent() const { return sent_; }
    /** The lane has taken it. */
    void note_sent()
    {
        const Record &record = front_unsent();
        cursor_at_          += room_for(record.length);
        if (wire::message_distance(sent_++, fresh_) < 0) {
            resent_ += record.length;
            if (broke_ != nullptr) {
                broke_->add(record.length);
            }
        } else {
            fresh_ = sent_;
        }
    }
    /** The same of one that was just committed, when no other was unsent. */
    void note_last_sent()
    {
        cursor_    = last_;
        cursor_at_ = last_->used;
        sent_ = fresh_ = next_;
    }
    /** There is another lane, which is to send again what is not acknowledged. What
     *  it does is counted in `broke`, which outlives this, unless it is null. */
    void rewind(Count *broke = nullptr);
    /** What is sent next was sent before. */
    bool goes_again() const { return sent_ != fresh_; }
    /** Bytes that lanes sent which other lanes had sent before. */
    uint64_t resent() const { return resent_; }

    /** The peer has had all messages before `seen`. False, and nothing changed, if it
     *  has said more before, or if there are not so many. */
    bool acknowledge(wire::MessageNumber seen);

    bool   empty() const { return count_ == 0; }
    /** Bytes that the peer has acknowledged, since the beginning. */
    uint64_t arrived() const { return arrived_; }
    size_t messages() const { return count_; }
    size_t bytes() const { return bytes_; }
    /** The first message that is not acknowledged. */
    wire::MessageNumber first_number() const
    {
        return static_cast<wire::MessageNumber>(next_ - count_);
    }

    /** Forgets all; numbers go on. */
    void clear();

private:
    using Block = MessageMemory::Block;

    static size_t room_for(size_t length)
    {
        return sizeof(Record) + ((length + 7) & ~size_t{7});
    }
    static Record *at(Block *block, size_t offset)
    {
        return reinterpret_cast<Record *>(block->data() + offset);
    }
    Record *end() { return at(last_, last_->used); }
    void    grow(size_t need);
    void    drop_first();

    MessageMemory &memory_;
    Block         *first_     = nullptr; /* of a list */
    Block         *last_      = nullptr;
    size_t         begin_at_  = 0;       /* in the first block */
    Block         *cursor_    = nullptr; /* null: at the begin */
    size_t         cursor_at_ = 0;
    size_t         bytes_     = 0;
    size_t         count_     = 0;
    uint64_t       resent_    = 0;
    uint64_t       arrived_   = 0;
    Count         *broke_     = nullptr; /* counts them too */
    wire::MessageNumber next_ = 0;
    wire::MessageNumber sent_ = 0; /* the first that is not */
    wire::MessageNumber fresh_ = 0; /* the first that never was */
};

} // namespace fuselink

#endif
