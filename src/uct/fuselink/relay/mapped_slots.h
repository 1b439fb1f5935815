/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_RELAY_MAPPED_SLOTS_H
#define FUSELINK_RELAY_MAPPED_SLOTS_H

#include "../memory/region.h"
#include "../registry/relay_registry.h"

#include <memory>

namespace fuselink {

/** A lender's slots, mapped into this process and known to its NICs. In threads with
 *  a CUDA context. */
class MappedSlots {
public:
    /** For NICs of these slots of `nics`, which outlives it. nullptr if the offer's memory
     *  cannot be mapped. */
    static std::unique_ptr<MappedSlots> map(const RelayRegistry::Offer &offer,
                                            NicMemory &nics, uint32_t which);
    ~MappedSlots();
    MappedSlots(const MappedSlots &)            = delete;
    MappedSlots &operator=(const MappedSlots &) = delete;

    char   *memory() const { return static_cast<char *>(region_.base()); }
    Region &region() { return region_; }
    /** As a NIC knows them all; null if it does not reach them. */
    uct_mem_h handle(unsigned nic) { return nics_.handle(region_, nic); }

private:
    MappedSlots(NicMemory &nics, void *memory, size_t length, uint32_t which)
        : nics_(nics), region_(memory, length, which)
    {
        region_.may_fail(); /* a driver may not let NICs read what another process has */
    }

    NicMemory &nics_;
    Region     region_;
};

} // namespace fuselink

#endif
