/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "region_table.h"

namespace fuselink {

RegionTable::RegionTable(Host &host) : rng_(host.random64()) {}

/* splitmix64: one step per registration, which is on UCP's rendezvous path. */
uint64_t RegionTable::next_key()
{
    uint64_t z;
    do {
        rng_ += 0x9e3779b97f4a7c15u;
        z = rng_;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        z ^= z >> 31;
    } while (z == 0);
    return z;
}

RegionKey RegionTable::add(const void *base, size_t length, Region *region)
{
    std::lock_guard<std::mutex> lock(mutex_);
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
    ++live_;
    return {id, slot.key};
}

void RegionTable::remove(const RegionKey &key)
{
    std::lock_guard<std::mutex> lock(mutex_);
    if (key.id >= slots_.size() || slots_[key.id].key != key.key ||
        key.key == 0) {
        return;
    }
    slots_[key.id].key       = 0;
    slots_[key.id].next_free = free_;
    free_                    = key.id;
    --live_;
}

bool RegionTable::contains(const RegionKey &key, uint64_t address,
                           uint64_t length) const
{
    std::lock_guard<std::mutex> lock(mutex_);
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
    std::lock_guard<std::mutex> lock(mutex_);
    return live_;
}

} // namespace fuselink
