/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "held_messages.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace fuselink {
namespace {

/* Places, and so many of them that they are not kept for later. */
constexpr size_t kFewest   = 64;
constexpr size_t kMostKept = 1024;
/* Of the blocks, in some of which little is left: what was sent between a message and those
 * that it waits for is no more than a log has. */
constexpr size_t kMostMemory = MessageLog::kMaxBytes * 4;

constexpr size_t aligned(size_t length)
{
    return (length + 7) & ~size_t{7};
}

} // namespace

/* Of a peer without messages out of order there are none. */
void HeldMessages::grow(size_t ahead)
{
    if (ahead < slots_.size()) {
        return;
    }
    std::vector<Slot> more(std::max(kFewest, std::bit_ceil(ahead + 1)));
    for (size_t i = 0; i < slots_.size(); ++i) {
        more[i] = slots_[at(i)];
    }
    slots_ = std::move(more);
    begin_ = 0;
}

HeldMessages::Block *HeldMessages::room_for(size_t length)
{
    const size_t need = aligned(length);
    if (last_ != nullptr && last_->size - last_->used >= need) {
        return last_;
    }
    if (last_ != nullptr && users(last_) == 0) {
        give_back(std::exchange(last_, nullptr));
    }
    if (memory_bytes_ > kMostMemory) {
        return nullptr;
    }
    last_          = memory_.take(sizeof(size_t) + need);
    last_->used    = sizeof(size_t);
    memory_bytes_ += last_->size;
    users(last_)   = 0;
    return last_;
}

void HeldMessages::give_back(Block *block)
{
    memory_bytes_ -= block->size;
    memory_.give_back(block);
}

bool HeldMessages::hold(size_t ahead, uint8_t am_id, const void *data, size_t length)
{
    if (ahead >= MessageLog::kMaxMessages ||
        bytes_ + length > MessageLog::kMaxBytes) {
        return false;
    }
    grow(ahead);
    Slot &slot = slots_[at(ahead)];
    if (slot.block != nullptr) {
        return true;
    }
    slot.block = room_for(length);
    if (slot.block == nullptr) {
        return false;
    }
    slot.message = {slot.block->data() + slot.block->used,
                    static_cast<uint32_t>(length), am_id};
    memcpy(slot.message.data, data, length);
    slot.block->used += aligned(length);
    ++users(slot.block);
    ++count_;
    bytes_ += length;
    return true;
}

void HeldMessages::release(Block *block)
{
    if (--users(block) != 0) {
        return;
    }
    if (block != last_) {
        give_back(block);
    } else {
        block->used = sizeof(size_t);
    }
    if (count_ == 0 && last_ != nullptr && users(last_) == 0) {
        give_back(std::exchange(last_, nullptr));
    }
}

void HeldMessages::pass()
{
    if (count_ == 0) {
        return;
    }
    if (slots_[begin_].block != nullptr) {
        free(take());
    } else {
        begin_ = at(1);
    }
}

HeldMessages::Taken HeldMessages::take()
{
    Slot       &slot = slots_[begin_];
    const Taken taken{slot.message, std::exchange(slot.block, nullptr)};
    --count_;
    bytes_ -= taken.message.length;
    begin_  = at(1);
    if (count_ == 0 && slots_.size() > kMostKept) {
        slots_ = {};
        begin_ = 0;
    }
    return taken;
}

void HeldMessages::clear()
{
    count_ = bytes_ = 0;
    for (Slot &slot : slots_) {
        if (slot.block != nullptr) {
            release(std::exchange(slot.block, nullptr));
        }
    }
    slots_ = {};
    begin_ = 0;
}

} // namespace fuselink
