/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_CUDASIM_RUNTIME_H
#define FUSELINK_CUDASIM_RUNTIME_H

/*
 * The runtime API over the driver API, as NVIDIA's is, and with nothing else
 * under it. The error codes of both have the same numbers.
 */
#include <cuda.h>
#include <cuda_runtime_api.h>

#define CUDASIM_RUNTIME \
    extern "C" __attribute__((visibility("default"))) cudaError_t CUDARTAPI

namespace cudasim {

/** Keeps the error for cudaGetLastError. */
cudaError_t report(CUresult result);

/** Makes the driver ready and this thread's device current. */
CUresult make_current();

/** Leaves FUNCTION if there is no current context. */
#define CUDASIM_CURRENT()                               \
    if (CUresult failed = cudasim::make_current();      \
        failed != CUDA_SUCCESS) {                       \
        return cudasim::report(failed);                 \
    }

} // namespace cudasim

#endif
