/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_MEMORY_REGION_TABLE_H
#define FUSELINK_MEMORY_REGION_TABLE_H

#include "../host/random_numbers.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <vector>

namespace fuselink {

class Region;

/* What a packed remote key names. The key is random, so that an old or
 * invented one does not open somebody else's memory, nor one that was computed
 * from others. */
struct RegionKey {
    uint32_t id  = 0;
    uint64_t key = 0; /* never 0 for a live region */

    bool operator==(const RegionKey &) const = default;
};

/**
 * The memory that peers may name: registered ranges of one memory domain.
 *
 * Requests that make this process read or write its own memory (gets served
 * over rails without hardware get, small puts carried as messages) are
 * checked here. All methods may be called from any thread: one memory domain
 * serves the interfaces of several workers.
 */
class RegionTable {
public:
    explicit RegionTable(Host &host) : random_(host) {}

    /** Adds [base, base + length); length may be 0. `region`, if any, is what
     *  with_region() finds, and must live until remove() has returned. `on_gpu`: the CPU
     *  cannot read or write it. */
    RegionKey add(const void *base, size_t length, Region *region = nullptr,
                  bool on_gpu = false);

    /** Ends a region; its key opens nothing afterwards. */
    void remove(const RegionKey &key);

    /** True if [address, address + length) lies in the region that the key
     *  names. Every argument may come from a hostile peer. */
    bool contains(const RegionKey &key, uint64_t address,
                  uint64_t length) const;

    /** Copies to memory of the host if contains() is true, and keeps it from
     *  being deregistered, and freed, meanwhile. */
    bool copy_in(const RegionKey &key, uint64_t address, const void *data,
                 size_t length);
    /** The same, from memory of the host. */
    bool copy_out(const RegionKey &key, uint64_t address, void *data,
                  size_t length) const;

    /** Calls fn(Region &) for the region that the key names and keeps it from
     *  going away meanwhile. False if there is none. */
    template <typename Fn> bool with_region(const RegionKey &key, Fn &&fn)
    {
        std::lock_guard<std::shared_mutex> lock(mutex_);
        if (key.key == 0 || key.id >= slots_.size() ||
            slots_[key.id].key != key.key ||
            slots_[key.id].region == nullptr) {
            return false;
        }
        fn(*slots_[key.id].region);
        return true;
    }

    size_t size() const;
    /** Some of it is memory of a GPU. Costs a load. */
    bool   any_on_gpu() const { return on_gpu_.load(std::memory_order_relaxed) != 0; }

private:
    struct Slot {
        uint64_t key    = 0;
        uint64_t base   = 0;
        uint64_t length = 0;
        uint32_t next_free = 0;
        bool     on_gpu = false;
        Region  *region = nullptr;
    };

    uint64_t next_key();
    bool     has(const RegionKey &key, uint64_t address,
                 uint64_t length) const;

    mutable std::shared_mutex mutex_;
    std::vector<Slot>         slots_;
    uint32_t                  free_ = kNone;
    RandomNumbers             random_;
    size_t                    live_ = 0;
    std::atomic<size_t>       on_gpu_{0};

    static constexpr uint32_t kNone = UINT32_MAX;
};

} // namespace fuselink

#endif
