/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "direct_nics.h"

namespace fuselink {

uint32_t direct_nics(NvLinks &nvlinks, const GpuContext::Uuid &gpu, const NicMemory &nics)
{
    if (!nics.any_for_gpus()) {
        return 0;
    }
    std::vector<std::string> names;
    std::vector<unsigned>    slots;
    for (unsigned slot = 0; slot < nics.count(); ++slot) {
        if (nics.md(slot).takes_gpu_memory()) {
            names.push_back(nics.md(slot).md_name());
            slots.push_back(slot);
        }
    }
    const uint32_t near   = nics.far_for_gpus() || names.empty() ?
                                ~0u : nvlinks.nearest(gpu, names);
    uint32_t       direct = 0;
    for (size_t i = 0; i < slots.size(); ++i) {
        direct |= (near >> i & 1) << slots[i];
    }
    return direct;
}

} // namespace fuselink
