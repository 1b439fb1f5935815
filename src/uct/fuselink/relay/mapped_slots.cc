/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "mapped_slots.h"

#include "gpu_context.h"

#include <algorithm>

namespace fuselink {

std::unique_ptr<MappedSlots> MappedSlots::map(const RelayRegistry::Offer &offer,
                                              NicMemory &nics, uint32_t which)
{
    GpuContext::Handle handle;
    std::copy(std::begin(offer.memory), std::end(offer.memory), handle.begin());
    void *memory = offer.mappable != 0 ? GpuContext::map(handle) : nullptr;
    if (memory == nullptr) {
        return nullptr;
    }
    return std::unique_ptr<MappedSlots>(
        new MappedSlots(nics, memory, size_t{offer.slot_size} * offer.slots, which));
}

MappedSlots::~MappedSlots()
{
    nics_.release(region_);
    GpuContext::unmap(memory());
}

} // namespace fuselink
