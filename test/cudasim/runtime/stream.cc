/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "runtime/runtime.h"

#include <new>

using cudasim::report;

CUDASIM_RUNTIME cudaStreamCreateWithPriority(cudaStream_t *stream,
                                             unsigned flags, int priority)
{
    CUDASIM_CURRENT();
    return report(cuStreamCreateWithPriority(stream, flags, priority));
}

CUDASIM_RUNTIME cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    CUDASIM_CURRENT();
    return report(cuStreamCreate(stream, flags));
}

CUDASIM_RUNTIME cudaStreamCreate(cudaStream_t *stream)
{
    CUDASIM_CURRENT();
    return report(cuStreamCreate(stream, 0));
}

CUDASIM_RUNTIME cudaStreamDestroy(cudaStream_t stream)
{
    CUDASIM_CURRENT();
    return report(cuStreamDestroy(stream));
}

CUDASIM_RUNTIME cudaStreamQuery(cudaStream_t stream)
{
    CUDASIM_CURRENT();
    return report(cuStreamQuery(stream));
}

CUDASIM_RUNTIME cudaStreamSynchronize(cudaStream_t stream)
{
    CUDASIM_CURRENT();
    return report(cuStreamSynchronize(stream));
}

CUDASIM_RUNTIME cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                    unsigned flags)
{
    CUDASIM_CURRENT();
    return report(cuStreamWaitEvent(stream, event, flags));
}

CUDASIM_RUNTIME cudaStreamGetFlags(cudaStream_t stream, unsigned *flags)
{
    CUDASIM_CURRENT();
    return report(cuStreamGetFlags(stream, flags));
}

namespace {

struct Callback {
    cudaStreamCallback_t function;
    void                *argument;
};

void CUDA_CB call_back(CUstream stream, CUresult status, void *argument)
{
    Callback callback = *static_cast<Callback *>(argument);
    delete static_cast<Callback *>(argument);
    callback.function(stream, static_cast<cudaError_t>(status),
                      callback.argument);
}

} // namespace

CUDASIM_RUNTIME cudaStreamAddCallback(cudaStream_t         stream,
                                      cudaStreamCallback_t function,
                                      void *argument, unsigned flags)
{
    CUDASIM_CURRENT();
    auto     callback = new Callback{function, argument};
    CUresult result   = cuStreamAddCallback(stream, call_back, callback, flags);
    if (result != CUDA_SUCCESS) {
        delete callback;
    }
    return report(result);
}

CUDASIM_RUNTIME cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function,
                                   void *argument)
{
    CUDASIM_CURRENT();
    return report(cuLaunchHostFunc(stream, function, argument));
}

CUDASIM_RUNTIME cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    CUDASIM_CURRENT();
    return report(cuEventCreate(event, flags));
}

CUDASIM_RUNTIME cudaEventCreate(cudaEvent_t *event)
{
    CUDASIM_CURRENT();
    return report(cuEventCreate(event, 0));
}

CUDASIM_RUNTIME cudaEventDestroy(cudaEvent_t event)
{
    CUDASIM_CURRENT();
    return report(cuEventDestroy(event));
}

CUDASIM_RUNTIME cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    CUDASIM_CURRENT();
    return report(cuEventRecord(event, stream));
}

CUDASIM_RUNTIME cudaEventQuery(cudaEvent_t event)
{
    CUDASIM_CURRENT();
    return report(cuEventQuery(event));
}

CUDASIM_RUNTIME cudaEventSynchronize(cudaEvent_t event)
{
    CUDASIM_CURRENT();
    return report(cuEventSynchronize(event));
}

CUDASIM_RUNTIME cudaEventElapsedTime(float *milliseconds, cudaEvent_t from,
                                     cudaEvent_t to)
{
    CUDASIM_CURRENT();
    return report(cuEventElapsedTime(milliseconds, from, to));
}

/* Refused, as by the driver; docs/gpu-emulator.md says what is not there. */
CUDASIM_RUNTIME cudaMallocAsync(void **, size_t, cudaStream_t)
{
    return report(CUDA_ERROR_NOT_SUPPORTED);
}

CUDASIM_RUNTIME cudaFreeAsync(void *, cudaStream_t)
{
    return report(CUDA_ERROR_NOT_SUPPORTED);
}

CUDASIM_RUNTIME cudaLaunchKernel(const void *, dim3, dim3, void **, size_t,
                                 cudaStream_t)
{
    return report(CUDA_ERROR_NOT_SUPPORTED);
}
