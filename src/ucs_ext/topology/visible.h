/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_UCS_EXT_TOPOLOGY_VISIBLE_H
#define FUSELINK_UCS_EXT_TOPOLOGY_VISIBLE_H

#include "devices.h"

#include <string>
#include <vector>

namespace fuselink::topology {

/** The environment of a process, as far as CUDA looks at it; nullptr is unset. */
struct CudaEnvironment {
    const char *visible_devices = nullptr; /* CUDA_VISIBLE_DEVICES */
    const char *device_order    = nullptr; /* CUDA_DEVICE_ORDER */

    static CudaEnvironment own();
};

/** The GPUs that CUDA shows a process. */
struct Visible {
    std::vector<size_t> gpus; /* by CUDA's number: the number in Devices */
    /* CUDA numbers the fastest first, unless it is told to go by the bus. With
     * GPUs of several kinds only CUDA itself can say which that is. */
    bool        certain = true;
    std::string note; /* of what was not understood; may be empty */
};

/** As CUDA reads the variable: numbers, UUIDs or the beginnings of such, up to the
 *  first that is not there. MIG instances are not supported, which the note says. */
Visible visible(const Devices &devices, const CudaEnvironment &environment);

} // namespace fuselink::topology

#endif
