/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
/*
 * What the emulated GPU cannot do is refused, so that a program learns it from
 * a status and not from a symbol that is missing. Neither kernels nor memory
 * pools, virtual memory management, graphs, arrays, multicast or the calls that
 * NVIDIA does not document are emulated.
 */
#include "driver/driver.h"

namespace {

constexpr CUresult kRefused = CUDA_ERROR_NOT_SUPPORTED;

} // namespace

/* Names with their versions, whatever the headers call them. */
#define CUDASIM_ANSWER(_name, _result)                                \
    CUDASIM_EXPORT CUresult cudasim_answer_##_name() __asm__(#_name); \
    CUresult cudasim_answer_##_name()                                 \
    {                                                                 \
        return _result;                                               \
    }
#define CUDASIM_REFUSE(_name) CUDASIM_ANSWER(_name, kRefused)

CUDASIM_REFUSE(cuGetExportTable)

CUDASIM_REFUSE(cuMemAllocAsync)
CUDASIM_REFUSE(cuMemAllocFromPoolAsync)
CUDASIM_REFUSE(cuMemFreeAsync)
CUDASIM_REFUSE(cuMemPoolCreate)
CUDASIM_REFUSE(cuMemPoolDestroy)
CUDASIM_REFUSE(cuMemPoolGetAttribute)
CUDASIM_REFUSE(cuMemPoolSetAttribute)
CUDASIM_REFUSE(cuMemPoolTrimTo)
CUDASIM_REFUSE(cuMemPoolExportToShareableHandle)
CUDASIM_REFUSE(cuMemPoolImportFromShareableHandle)
CUDASIM_REFUSE(cuMemPoolExportPointer)
CUDASIM_REFUSE(cuMemPoolImportPointer)
CUDASIM_REFUSE(cuMemPoolSetAccess)
CUDASIM_REFUSE(cuDeviceGetDefaultMemPool)
CUDASIM_REFUSE(cuDeviceGetMemPool)
CUDASIM_REFUSE(cuDeviceSetMemPool)

CUDASIM_REFUSE(cuMemAddressReserve)
CUDASIM_REFUSE(cuMemAddressFree)
CUDASIM_REFUSE(cuMemCreate)
CUDASIM_REFUSE(cuMemRelease)
CUDASIM_REFUSE(cuMemMap)
CUDASIM_REFUSE(cuMemUnmap)
CUDASIM_REFUSE(cuMemSetAccess)
CUDASIM_REFUSE(cuMemGetAccess)
CUDASIM_REFUSE(cuMemExportToShareableHandle)
CUDASIM_REFUSE(cuMemImportFromShareableHandle)
CUDASIM_REFUSE(cuMemGetAllocationGranularity)
CUDASIM_REFUSE(cuMemGetAllocationPropertiesFromHandle)
CUDASIM_REFUSE(cuMemRetainAllocationHandle)
CUDASIM_REFUSE(cuMemGetHandleForAddressRange)

CUDASIM_REFUSE(cuIpcGetEventHandle)
CUDASIM_REFUSE(cuIpcOpenEventHandle)

CUDASIM_REFUSE(cuModuleLoad)
CUDASIM_REFUSE(cuModuleLoadData)
CUDASIM_REFUSE(cuModuleLoadDataEx)
CUDASIM_REFUSE(cuModuleLoadFatBinary)
CUDASIM_REFUSE(cuModuleUnload)
CUDASIM_REFUSE(cuModuleGetFunction)
CUDASIM_REFUSE(cuLibraryLoadData)
CUDASIM_REFUSE(cuLaunchKernel)
CUDASIM_REFUSE(cuLaunchKernelEx)
CUDASIM_REFUSE(cuStreamBeginCapture_v2)
CUDASIM_REFUSE(cuStreamEndCapture)
CUDASIM_REFUSE(cuStreamWriteValue32_v2)
CUDASIM_REFUSE(cuStreamWaitValue32_v2)
CUDASIM_REFUSE(cuGraphCreate)
CUDASIM_REFUSE(cuFlushGPUDirectRDMAWrites)

/* Managed memory is where GPU and CPU both reach it: advice changes nothing. */
CUDASIM_ANSWER(cuMemPrefetchAsync, CUDA_SUCCESS)
CUDASIM_ANSWER(cuMemPrefetchAsync_v2, CUDA_SUCCESS)
CUDASIM_ANSWER(cuMemAdvise, CUDA_SUCCESS)
CUDASIM_ANSWER(cuMemAdvise_v2, CUDA_SUCCESS)
