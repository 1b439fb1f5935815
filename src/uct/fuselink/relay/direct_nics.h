/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_RELAY_DIRECT_NICS_H
#define FUSELINK_RELAY_DIRECT_NICS_H

#include "../memory/region.h"
#include "gpu_context.h"
#include "nvlinks.h"

namespace fuselink {

/** The NICs that are to read and write the GPU's memory themselves, by
 *  UCX_FUSELINK_GPU_DIRECT: a bit for each slot of `nics`. Thread-safe, as NvLinks. */
uint32_t direct_nics(NvLinks &nvlinks, const GpuContext::Uuid &gpu, const NicMemory &nics);

} // namespace fuselink

#endif
