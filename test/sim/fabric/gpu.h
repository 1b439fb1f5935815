/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_SIM_FABRIC_GPU_H
#define FUSELINK_TEST_SIM_FABRIC_GPU_H

#include "../world/timeline.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace fuselink::sim {

/**
 * Addresses that stand for memory of a GPU. Nothing is there: a CPU that reads or
 * writes them is a violation of the run that is going on, which then comes to its
 * end. What the GPU has at an address is kept elsewhere (Process::arena()).
 */
class DeviceRange {
public:
    explicit DeviceRange(size_t length);
    ~DeviceRange();
    DeviceRange(const DeviceRange &)            = delete;
    DeviceRange &operator=(const DeviceRange &) = delete;

    uint64_t base() const { return base_; }
    size_t   length() const { return length_; }
    bool     has(uint64_t address) const { return address - base_ < length_; }

private:
    size_t   length_;
    uint64_t base_ = 0;
};

/** The copy engines of a process's GPU: one to the host, one from it, each of
 *  which does one copy after the other. */
struct Gpu {
    double   rate  = 1e10; /* bytes per second, either direction */
    Instant  delay = kMicrosecond; /* of a copy, beside that */
    unsigned copies_to_fail = 0;
    bool     broken = false; /* one has failed */
    uint32_t near   = ~0u;   /* NICs: a bit for each */
    Instant  free_at[2] = {}; /* to the host, from it: what is queued is done */

    /** When a copy that is asked for now is done. */
    Instant take(bool to_host, size_t length, Instant now)
    {
        Instant &end = free_at[to_host ? 0 : 1];
        end = std::max(end, now) + delay +
              static_cast<Instant>(static_cast<double>(length) * 1e9 / rate);
        return end;
    }
};

} // namespace fuselink::sim

#endif
