/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "runtime/runtime.h"

#include <cstdio>
#include <cstring>
#include <mutex>

namespace {

thread_local int         device     = 0;
thread_local cudaError_t last_error = cudaSuccess;

/* The runtime retains each primary context once. */
CUresult primary(int wanted, CUcontext &context)
{
    static std::mutex mutex;
    static CUcontext  contexts[64];
    std::lock_guard   guard(mutex);
    unsigned          flags;
    int               active;
    CUresult          result = cuDevicePrimaryCtxGetState(wanted, &flags, &active);
    if (result != CUDA_SUCCESS) {
        return result;
    }
    if (contexts[wanted] == nullptr || !active) {
        result = cuDevicePrimaryCtxRetain(&contexts[wanted], wanted);
    }
    context = contexts[wanted];
    return result;
}

} // namespace

cudaError_t cudasim::report(CUresult result)
{
    cudaError_t error = static_cast<cudaError_t>(result);
    if (error != cudaSuccess && error != cudaErrorNotReady) {
        last_error = error;
    }
    return error;
}

CUresult cudasim::make_current()
{
    CUcontext current = nullptr;
    CUresult  result  = cuInit(0);
    if (result == CUDA_SUCCESS) {
        result = cuCtxGetCurrent(&current);
    }
    if (result != CUDA_SUCCESS || current != nullptr) {
        return result;
    }
    result = primary(device, current);
    return result == CUDA_SUCCESS ? cuCtxSetCurrent(current) : result;
}

using cudasim::report;

CUDASIM_RUNTIME cudaGetDeviceCount(int *count)
{
    CUresult result = cuInit(0);
    *count          = 0;
    return report(result == CUDA_SUCCESS ? cuDeviceGetCount(count) : result);
}

CUDASIM_RUNTIME cudaSetDevice(int wanted)
{
    CUcontext context;
    int       count  = 0;
    CUresult  result = cuInit(0);
    if (result == CUDA_SUCCESS) {
        result = cuDeviceGetCount(&count);
    }
    if (result == CUDA_SUCCESS && (wanted < 0 || wanted >= count)) {
        result = CUDA_ERROR_INVALID_DEVICE;
    }
    if (result == CUDA_SUCCESS) {
        result = primary(wanted, context);
    }
    if (result == CUDA_SUCCESS) {
        device = wanted;
        result = cuCtxSetCurrent(context);
    }
    return report(result);
}

CUDASIM_RUNTIME cudaGetDevice(int *result)
{
    CUDASIM_CURRENT();
    return report(cuCtxGetDevice(result));
}

CUDASIM_RUNTIME cudaDeviceSynchronize(void)
{
    CUDASIM_CURRENT();
    return report(cuCtxSynchronize());
}

CUDASIM_RUNTIME cudaDeviceReset(void)
{
    CUDASIM_CURRENT();
    CUdevice current;
    CUresult result = cuCtxGetDevice(&current);
    if (result == CUDA_SUCCESS) {
        cuCtxSetCurrent(nullptr);
        result = cuDevicePrimaryCtxReset(current);
    }
    return report(result);
}

CUDASIM_RUNTIME cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute,
                                       int which)
{
    CUresult result = cuInit(0);
    /* The numbers are those of the driver's attributes. */
    return report(result == CUDA_SUCCESS ?
                      cuDeviceGetAttribute(
                          value, static_cast<CUdevice_attribute>(attribute),
                          which) : result);
}

CUDASIM_RUNTIME cudaGetDeviceProperties(cudaDeviceProp *properties, int which)
{
    CUresult result = cuInit(0);
    memset(properties, 0, sizeof(*properties));
    if (result == CUDA_SUCCESS) {
        result = cuDeviceGetName(properties->name, sizeof(properties->name),
                                 which);
    }
    if (result != CUDA_SUCCESS) {
        return report(result);
    }
    auto attribute = [which](CUdevice_attribute what) {
        int value = 0;
        cuDeviceGetAttribute(&value, what, which);
        return value;
    };
    cuDeviceTotalMem(&properties->totalGlobalMem, which);
    cuDeviceGetUuid(&properties->uuid, which);
    properties->major = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    properties->minor = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    properties->pciBusID    = attribute(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID);
    properties->pciDeviceID = attribute(CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID);
    properties->warpSize    = attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE);
    properties->asyncEngineCount =
        attribute(CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT);
    properties->multiProcessorCount =
        attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    properties->maxThreadsPerBlock =
        attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    properties->unifiedAddressing = 1;
    properties->canMapHostMemory  = 1;
    properties->managedMemory     = 1;
    properties->concurrentManagedAccess = 1;
    return cudaSuccess;
}

CUDASIM_RUNTIME cudaDeviceGetPCIBusId(char *text, int length, int which)
{
    CUresult result = cuInit(0);
    return report(result == CUDA_SUCCESS ?
                      cuDeviceGetPCIBusId(text, length, which) : result);
}

CUDASIM_RUNTIME cudaDeviceGetByPCIBusId(int *which, const char *text)
{
    CUresult result = cuInit(0);
    return report(result == CUDA_SUCCESS ? cuDeviceGetByPCIBusId(which, text) :
                                           result);
}

CUDASIM_RUNTIME cudaDeviceCanAccessPeer(int *can, int which, int peer)
{
    CUresult result = cuInit(0);
    return report(result == CUDA_SUCCESS ?
                      cuDeviceCanAccessPeer(can, which, peer) : result);
}

CUDASIM_RUNTIME cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
    CUDASIM_CURRENT();
    CUcontext context;
    CUresult  result = primary(peer, context);
    return report(result == CUDA_SUCCESS ? cuCtxEnablePeerAccess(context, flags) :
                                           result);
}

CUDASIM_RUNTIME cudaDeviceDisablePeerAccess(int peer)
{
    CUDASIM_CURRENT();
    CUcontext context;
    CUresult  result = primary(peer, context);
    return report(result == CUDA_SUCCESS ? cuCtxDisablePeerAccess(context) :
                                           result);
}

CUDASIM_RUNTIME cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    CUDASIM_CURRENT();
    return report(cuCtxGetStreamPriorityRange(least, greatest));
}

CUDASIM_RUNTIME cudaSetDeviceFlags(unsigned)
{
    return cudaSuccess; /* how to wait: there is one way here */
}

CUDASIM_RUNTIME cudaDriverGetVersion(int *version)
{
    return report(cuDriverGetVersion(version));
}

CUDASIM_RUNTIME cudaRuntimeGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}

CUDASIM_RUNTIME cudaGetLastError(void)
{
    cudaError_t error = last_error;
    last_error        = cudaSuccess;
    return error;
}

CUDASIM_RUNTIME cudaPeekAtLastError(void)
{
    return last_error;
}

#define CUDASIM_TEXT \
    extern "C" __attribute__((visibility("default"))) const char *CUDARTAPI

CUDASIM_TEXT cudaGetErrorString(cudaError_t error)
{
    const char *text = nullptr;
    cuGetErrorString(static_cast<CUresult>(error), &text);
    return text != nullptr ? text : "unrecognized error code";
}

/* The driver's name of it: CUDA_ERROR_... */
CUDASIM_TEXT cudaGetErrorName(cudaError_t error)
{
    const char *text = nullptr;
    cuGetErrorName(static_cast<CUresult>(error), &text);
    return text != nullptr ? text : "unrecognized error code";
}
