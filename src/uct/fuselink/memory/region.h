/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_MEMORY_REGION_H
#define FUSELINK_MEMORY_REGION_H

#include "../rail/uct_objects.h"
#include "../wire/address.h"
#include "region_table.h"

#include <array>
#include <atomic>
#include <mutex>
#include <vector>

namespace fuselink {

class NicMemory;

/** Memory that UCT's user registered: what a uct_mem_h of fuselink points to.
 *  Registered with a NIC when that NIC first needs it. */
class Region {
public:
    explicit Region(void *base, size_t length) : base_(base), length_(length) {}
    /** Memory of a GPU, which NICs of `slots` may reach, a bit for each. */
    Region(void *base, size_t length, uint32_t slots)
        : base_(base), length_(length), on_gpu_(true), failed_(~slots)
    {
    }

    /** It goes another way where a NIC cannot register it: no warning then. */
    void may_fail() { may_fail_ = true; }

    void  *base() const { return base_; }
    size_t length() const { return length_; }
    /** Memory of a GPU, which the CPU cannot read or write. */
    bool   on_gpu() const { return on_gpu_; }
    /** Whether there is, or may be, a handle for some NIC. */
    bool   for_nics() const
    {
        return failed_.load(std::memory_order_relaxed) != ~0u;
    }

    RegionKey key; /* of the table of regions */

private:
    friend class NicMemory;

    void  *base_;
    size_t length_;
    bool   on_gpu_   = false;
    bool   may_fail_ = false;
    /* Of NicMemory's slots. Null: not registered (yet). */
    std::array<std::atomic<uct_mem_h>, wire::kMaxRails> handles_{};
    std::atomic<uint32_t>                               failed_{0}; /* or not
                                                                       to be */
};

/**
 * The NICs' memory domains that need memory registered. Each has a slot, by
 * which peers name its keys.
 *
 * Thread-safe: one memory domain of fuselink serves several workers. UCX's
 * own domains keep a cache, so registering again what was registered lately
 * is cheap.
 */
class NicMemory {
public:
    static constexpr unsigned kNoSlot = 0xff;

    /** The slot of a domain, given to it at the first call. Only while the
     *  memory domain opens. kNoSlot if there are too many. */
    unsigned add(UctMd &md);
    unsigned count() const { return static_cast<unsigned>(mds_.size()); }
    UctMd &md(unsigned slot) const { return *mds_[slot].md; }
    /** Some NIC may reach memory of GPUs. */
    bool any_for_gpus() const { return any_for_gpus_; }
    /** Those that can, if `far`; else only the nearest to each. */
    void allow_gpus(bool far)
    {
        any_for_gpus_ = true;
        far_for_gpus_ = far;
    }
    bool far_for_gpus() const { return far_for_gpus_; }

    /** The region's handle in a domain, registered if it was not. nullptr if
     *  that fails, which is not tried again and said once for a domain. */
    uct_mem_h handle(Region &region, unsigned slot);

    /** Ends all registrations of the region, which nobody uses any more. */
    void release(Region &region);

    /** Size of a packed key of a slot, bytes. */
    size_t key_size(unsigned slot) const { return mds_[slot].key_size; }
    /** Packs the key of a slot; false if the region cannot be registered. */
    bool   pack(Region &region, unsigned slot, void *out);

private:
    struct Entry {
        UctMd *md;
        size_t   key_size;
        bool     warned; /* under the mutex */
    };

    uct_mem_h register_with(Region &region, unsigned slot);

    std::vector<Entry> mds_;
    bool               any_for_gpus_ = false;
    bool               far_for_gpus_ = false;
    std::mutex         mutex_; /* registering; not looking up */
};

} // namespace fuselink

#endif
