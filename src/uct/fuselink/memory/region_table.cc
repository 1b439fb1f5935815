/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "region_table.h"

#include <cstring>

namespace fuselink {

uint64_t RegionTable::next_key()
{
    uint64_t key;
    do {
        key = random_.next64();
    } while (key == 0);
    return key;
}

RegionKey RegionTable::add(const void *base, size_t length, Region *region,
                           bool on_gpu)
{
    std::lock_guard<std::shared_mutex> lock(mutex_);
    uint32_t id;
    if (free_ != kNone) {
        id    = free_;
        free_ = slots_[id].next_free;
    } else {
        id = static_cast<uint32_t>(slots_.size());
        slots_.emplace_back();
    }
    Slot &slot  = slots_[id];
    slot.key    = next_key();
    slot.base   = reinterpret_cast<uintptr_t>(base);
    slot.length = length;
    slot.region = region;
    slot.on_gpu = on_gpu;
    on_gpu_ += on_gpu;
    ++live_;
    return {id, slot.key};
}

void RegionTable::remove(const RegionKey &key)
{
    std::lock_guard<std::shared_mutex> lock(mutex_);
    if (key.id >= slots_.size() || slots_[key.id].key != key.key ||
        key.key == 0) {
        return;
    }
    on_gpu_ -= slots_[key.id].on_gpu;
    slots_[key.id].key       = 0;
    slots_[key.id].next_free = free_;
    free_                    = key.id;
    --live_;
}

bool RegionTable::contains(const RegionKey &key, uint64_t address,
                           uint64_t length) const
{
    std::shared_lock<std::shared_mutex> lock(mutex_);
    return has(key, address, length);
}

bool RegionTable::copy_in(const RegionKey &key, uint64_t address,
                          const void *data, size_t length)
{
    std::shared_lock<std::shared_mutex> lock(mutex_);
    if (!has(key, address, length)) {
        return false;
    }
    if (length != 0) { /* data may be null else */
        memcpy(reinterpret_cast<void *>(static_cast<uintptr_t>(address)), data,
               length);
    }
    return true;
}

bool RegionTable::copy_out(const RegionKey &key, uint64_t address, void *data,
                           size_t length) const
{
    std::shared_lock<std::shared_mutex> lock(mutex_);
    if (!has(key, address, length)) {
        return false;
    }
    if (length != 0) {
        memcpy(data, reinterpret_cast<void *>(static_cast<uintptr_t>(address)), length);
    }
    return true;
}

bool RegionTable::has(const RegionKey &key, uint64_t address,
                      uint64_t length) const
{
    if (key.key == 0 || key.id >= slots_.size()) {
        return false;
    }
    const Slot &slot = slots_[key.id];
    if (slot.key != key.key || address < slot.base ||
        length > slot.length) {
        return false;
    }
    return address - slot.base <= slot.length - length;
}

size_t RegionTable::size() const
{
    std::lock_guard<std::shared_mutex> lock(mutex_);
    return live_;
}

} // namespace fuselink
