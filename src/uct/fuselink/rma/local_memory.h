/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_RMA_LOCAL_MEMORY_H
#define FUSELINK_RMA_LOCAL_MEMORY_H

#include "../memory/region.h"
#include "../memory/region_table.h"
#include "../relay/gpu_copies.h"
#include "../ucx.h"

#include <cstring>

namespace fuselink {

/**
 * Memory of this process that peers read and write by messages: of the host, or
 * of a GPU. Keys and addresses may be hostile.
 *
 * One thread at a time (the worker's).
 */
class LocalMemory {
public:
    LocalMemory(RegionTable &regions, GpuCopies &copies)
        : regions_(regions), copies_(copies)
    {
    }

    /** Of a GPU, as it was registered here, whatever the peer believes. */
    bool on_gpu(const RegionKey &key)
    {
        bool on_gpu = false;
        regions_.with_region(key, [&](const Region &region) {
            on_gpu = region.on_gpu();
        });
        return on_gpu;
    }

    /** Whether the bytes are in the region that the key names. */
    bool contains(const RegionKey &key, uint64_t address, uint64_t length) const
    {
        return regions_.contains(key, address, length);
    }

    /** To memory of the host, if contains(): another worker may deregister it at
     *  any time. */
    bool write(const RegionKey &key, uint64_t address, const void *data,
               size_t length)
    {
        return regions_.copy_in(key, address, data, length);
    }

    /** The same, from there. */
    bool read(const RegionKey &key, uint64_t address, void *to, size_t length) const
    {
        return regions_.copy_out(key, address, to, length);
    }

    /** To memory that nobody else can take away. False if the GPU fails. */
    bool write(char *to, bool to_gpu, const void *data, size_t length)
    {
        if (ucs_unlikely(to_gpu)) {
            return copies_.in(to, data, length) == UCS_OK;
        }
        memcpy(to, data, length);
        return true;
    }

    /** From memory of a GPU. */
    ucs_status_t read_gpu(void *to, const void *gpu, size_t length)
    {
        return copies_.out(to, gpu, length);
    }

private:
    RegionTable &regions_;
    GpuCopies   &copies_;
};

} // namespace fuselink

#endif
