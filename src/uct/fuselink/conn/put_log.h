/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_CONN_PUT_LOG_H
#define FUSELINK_CONN_PUT_LOG_H

#include "../wire/messages.h"
#include "message_log.h"

#include <cstddef>
#include <cstdint>

namespace fuselink {

/**
 * Puts that the NIC of the lane of messages does itself, from when it has them until
 * it is known that they are done: in the form in which another lane sends them, as
 * messages, at their place between the numbered ones.
 *
 * Those are done that the NIC says are, and those in front of a message that the
 * peer has taken: a queue pair executes in order. What is kept is bounded
 * (has_room()); the bound is back-pressure.
 *
 * One thread at a time.
 */
class PutLog {
public:
    static constexpr size_t kMaxBytes = 1 << 20;
    static constexpr size_t kMaxPuts  = 1 << 12;
    /** The NIC is to be asked when so much is kept of which it was not. */
    static constexpr size_t kAskBytes = kMaxBytes / 8;
    static constexpr size_t kAskPuts  = 128;

    explicit PutLog(MessageMemory &memory) : memory_(memory) {}
    ~PutLog() { clear(); }
    PutLog(const PutLog &)            = delete;
    PutLog &operator=(const PutLog &) = delete;

    struct Record {
        uint64_t            serial; /* of puts of the lane's NIC, from 1 on */
        uint32_t            length;
        wire::MessageNumber number; /* of the first message behind it */
        char *bytes() { return reinterpret_cast<char *>(this + 1); }
    };

    bool has_room() const { return bytes_ < kMaxBytes && count_ < kMaxPuts; }

    /** Memory for the next one, of up to `most` bytes; commit(), or the next
     *  reserve(), follows. */
    char *reserve(size_t most);
    void  commit(uint64_t serial, wire::MessageNumber number, size_t length);

    bool   empty() const { return count_ == 0; }
    size_t puts() const { return count_; }
    size_t bytes() const { return bytes_; }

    /** The NIC should be asked, */
    bool ask_due() const
    {
        return count_ >= asked_puts_ + kAskPuts ||
               bytes_ >= asked_bytes_ + kAskBytes;
    }
    /** and is, for all there are. */
    void note_asked()
    {
        asked_puts_  = count_;
        asked_bytes_ = bytes_;
    }

    /** The peer has had all messages before this one. */
    void acknowledge(wire::MessageNumber seen)
    {
        while (count_ != 0 &&
               wire::message_distance(first()->number, seen) < 0) {
            drop_first();
        }
    }
    /** The NIC has done all up to this one. */
    void done(uint64_t serial)
    {
        while (count_ != 0 && first()->serial <= serial) {
            drop_first();
        }
    }

    /* Sent as messages, from the first on. */
    void    rewind();
    bool    unsent() const { return sent_ != count_; }
    Record &front_unsent();
    void    note_sent();

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
    Record *first();
    void    drop_first();

    MessageMemory &memory_;
    Block         *first_       = nullptr; /* of a list */
    Block         *last_        = nullptr;
    size_t         begin_at_    = 0; /* in the first block */
    size_t         count_       = 0;
    size_t         bytes_       = 0;
    size_t         asked_puts_  = 0; /* of those that are kept */
    size_t         asked_bytes_ = 0;
    Block         *cursor_      = nullptr; /* null: at the begin */
    size_t         cursor_at_   = 0;
    size_t         sent_        = 0; /* as messages, of those that are kept */
};

} // namespace fuselink

#endif
