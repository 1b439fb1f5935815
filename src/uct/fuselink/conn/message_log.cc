/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "message_log.h"

#include <algorithm>
#include <new>

namespace fuselink {

/* --- memory --- */

MessageMemory::~MessageMemory()
{
    while (kept_ != nullptr) {
        Block *block = kept_;
        kept_        = block->next;
        ::operator delete(block);
    }
}

MessageMemory::Block *MessageMemory::take(size_t size)
{
    constexpr size_t kUsual = kBlock - sizeof(Block);
    if (size <= kUsual && kept_ != nullptr) {
        Block *block = kept_;
        kept_        = block->next;
        --count_;
        block->next = nullptr;
        block->used = 0;
        return block;
    }
    const size_t bytes  = std::max(size, kUsual);
    void        *memory = ::operator new(sizeof(Block) + bytes);
    return new (memory) Block{nullptr, bytes, 0};
}

void MessageMemory::give_back(Block *block)
{
    if (block->size != kBlock - sizeof(Block) || count_ == kMostKept) {
        ::operator delete(block);
        return;
    }
    block->next = kept_;
    kept_       = block;
    ++count_;
}

/* --- the log --- */

void MessageLog::grow(size_t need)
{
    Block *block = memory_.take(need);
    if (last_ != nullptr) {
        last_->next = block;
    } else {
        first_    = block;
        begin_at_ = 0;
    }
    last_ = block;
}

void MessageLog::rewind(Count *broke)
{
    broke_  = broke;
    cursor_ = nullptr;
    sent_   = first_number();
}

void MessageLog::drop_first()
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
    const Record *record = at(first_, begin_at_);
    if (sent_ == first_number()) { /* sent on an earlier lane only */
        ++sent_;
        cursor_ = nullptr;
    }
    begin_at_ += room_for(record->length);
    bytes_    -= record->length;
    arrived_  += record->length;
    --count_;
}

bool MessageLog::acknowledge(wire::MessageNumber seen)
{
    const int more = wire::message_distance(seen, first_number());
    if (more < 0 || static_cast<size_t>(more) > count_) {
        return false;
    }
    for (int i = 0; i < more; ++i) {
        drop_first();
    }
    if (count_ == 0) {
        clear();
    }
    return true;
}

void MessageLog::clear()
{
    while (first_ != nullptr) {
        Block *block = first_;
        first_       = block->next;
        memory_.give_back(block);
    }
    last_ = cursor_ = nullptr;
    begin_at_ = cursor_at_ = 0;
    bytes_ = count_ = 0;
    sent_ = fresh_ = next_;
}

} // namespace fuselink
