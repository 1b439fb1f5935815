/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "put_log.h"

#include <algorithm>

namespace fuselink {

char *PutLog::reserve(size_t most)
{
    const size_t need = room_for(most);
    if (last_ == nullptr || last_->size - last_->used < need) {
        Block *block = memory_.take(need);
        if (last_ != nullptr) {
            last_->next = block;
        } else {
            first_    = block;
            begin_at_ = 0;
        }
        last_ = block;
    }
    return at(last_, last_->used)->bytes();
}

void PutLog::commit(uint64_t serial, wire::MessageNumber number, size_t length)
{
    Record &record = *at(last_, last_->used);
    record.serial  = serial;
    record.number  = number;
    record.length  = static_cast<uint32_t>(length);
    last_->used   += room_for(length);
    bytes_        += length;
    ++count_;
}

PutLog::Record *PutLog::first()
{
    while (begin_at_ == first_->used) {
        Block *block = first_;
        first_       = block->next;
        begin_at_    = 0;
        if (cursor_ == block) {
            cursor_ = nullptr; /* it was at the end, and is at the begin */
        }
        memory_.give_back(block);
    }
    return at(first_, begin_at_);
}

void PutLog::drop_first()
{
    const Record *record = first();
    begin_at_    += room_for(record->length);
    bytes_       -= record->length;
    asked_bytes_ -= std::min<size_t>(asked_bytes_, record->length);
    asked_puts_  -= asked_puts_ != 0;
    if (sent_ == 0) { /* the cursor is there */
        cursor_ = nullptr;
    } else {
        --sent_;
    }
    if (--count_ == 0) {
        clear();
    }
}

void PutLog::rewind()
{
    cursor_ = nullptr;
    sent_   = 0;
}

PutLog::Record &PutLog::front_unsent()
{
    if (cursor_ == nullptr) {
        first(); /* leaves blocks behind that are over */
        cursor_    = first_;
        cursor_at_ = begin_at_;
    }
    while (cursor_at_ == cursor_->used) {
        cursor_    = cursor_->next;
        cursor_at_ = 0;
    }
    return *at(cursor_, cursor_at_);
}

void PutLog::note_sent()
{
    cursor_at_ += room_for(front_unsent().length);
    ++sent_;
}

void PutLog::clear()
{
    while (first_ != nullptr) {
        Block *block = first_;
        first_       = block->next;
        memory_.give_back(block);
    }
    last_ = cursor_ = nullptr;
    begin_at_ = cursor_at_ = count_ = bytes_ = 0;
    asked_puts_ = asked_bytes_ = sent_ = 0;
}

} // namespace fuselink
