/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "runtime/runtime.h"

#include <cstring>

using cudasim::report;

namespace {

CUdeviceptr address(const void *pointer)
{
    return reinterpret_cast<CUdeviceptr>(pointer);
}

CUdeviceptr *address(void **pointer)
{
    return reinterpret_cast<CUdeviceptr *>(pointer);
}

CUresult copy_2d(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                 size_t width, size_t height, CUstream stream, bool wait)
{
    CUDA_MEMCPY2D copy{};
    copy.srcMemoryType = CU_MEMORYTYPE_UNIFIED;
    copy.srcDevice     = address(from);
    copy.srcPitch      = from_pitch;
    copy.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
    copy.dstDevice     = address(to);
    copy.dstPitch      = to_pitch;
    copy.WidthInBytes  = width;
    copy.Height        = height;
    return wait ? cuMemcpy2D(&copy) : cuMemcpy2DAsync(&copy, stream);
}

/* The direction is worth a check where the caller gives one. */
CUresult copy_flat(void *to, const void *from, size_t size, cudaMemcpyKind kind,
                   CUstream stream, bool wait)
{
    CUdeviceptr target = address(to), source = address(from);
    switch (kind) {
    case cudaMemcpyHostToDevice:
        return wait ? cuMemcpyHtoD(target, from, size) :
                      cuMemcpyHtoDAsync(target, from, size, stream);
    case cudaMemcpyDeviceToHost:
        return wait ? cuMemcpyDtoH(to, source, size) :
                      cuMemcpyDtoHAsync(to, source, size, stream);
    case cudaMemcpyDeviceToDevice:
        return wait ? cuMemcpyDtoD(target, source, size) :
                      cuMemcpyDtoDAsync(target, source, size, stream);
    case cudaMemcpyHostToHost:
    case cudaMemcpyDefault:
        return wait ? cuMemcpy(target, source, size) :
                      cuMemcpyAsync(target, source, size, stream);
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

} // namespace

CUDASIM_RUNTIME cudaMalloc(void **result, size_t size)
{
    CUDASIM_CURRENT();
    if (size == 0) {
        *result = nullptr;
        return cudaSuccess;
    }
    return report(cuMemAlloc(address(result), size));
}

CUDASIM_RUNTIME cudaMallocPitch(void **result, size_t *pitch, size_t width,
                                size_t height)
{
    CUDASIM_CURRENT();
    return report(cuMemAllocPitch(address(result), pitch, width, height, 4));
}

CUDASIM_RUNTIME cudaMallocManaged(void **result, size_t size, unsigned flags)
{
    CUDASIM_CURRENT();
    return report(cuMemAllocManaged(address(result), size, flags));
}

CUDASIM_RUNTIME cudaFree(void *pointer)
{
    CUDASIM_CURRENT(); /* cudaFree(nullptr) is used to make the context */
    return report(cuMemFree(address(pointer)));
}

CUDASIM_RUNTIME cudaMallocHost(void **result, size_t size)
{
    CUDASIM_CURRENT();
    return report(cuMemAllocHost(result, size));
}

CUDASIM_RUNTIME cudaHostAlloc(void **result, size_t size, unsigned flags)
{
    CUDASIM_CURRENT();
    return report(cuMemHostAlloc(result, size, flags));
}

CUDASIM_RUNTIME cudaFreeHost(void *pointer)
{
    CUDASIM_CURRENT();
    return report(pointer != nullptr ? cuMemFreeHost(pointer) : CUDA_SUCCESS);
}

CUDASIM_RUNTIME cudaHostRegister(void *pointer, size_t size, unsigned flags)
{
    CUDASIM_CURRENT();
    return report(cuMemHostRegister(pointer, size, flags));
}

CUDASIM_RUNTIME cudaHostUnregister(void *pointer)
{
    CUDASIM_CURRENT();
    return report(cuMemHostUnregister(pointer));
}

CUDASIM_RUNTIME cudaHostGetDevicePointer(void **result, void *pointer,
                                         unsigned flags)
{
    CUDASIM_CURRENT();
    return report(cuMemHostGetDevicePointer(address(result), pointer, flags));
}

CUDASIM_RUNTIME cudaHostGetFlags(unsigned *flags, void *pointer)
{
    CUDASIM_CURRENT();
    return report(cuMemHostGetFlags(flags, pointer));
}

CUDASIM_RUNTIME cudaMemGetInfo(size_t *free, size_t *total)
{
    CUDASIM_CURRENT();
    return report(cuMemGetInfo(free, total));
}

CUDASIM_RUNTIME cudaMemcpy(void *to, const void *from, size_t size,
                           cudaMemcpyKind kind)
{
    CUDASIM_CURRENT();
    return report(copy_flat(to, from, size, kind, nullptr, true));
}

CUDASIM_RUNTIME cudaMemcpyAsync(void *to, const void *from, size_t size,
                                cudaMemcpyKind kind, cudaStream_t stream)
{
    CUDASIM_CURRENT();
    return report(copy_flat(to, from, size, kind, stream, false));
}

CUDASIM_RUNTIME cudaMemcpyPeer(void *to, int, const void *from, int, size_t size)
{
    CUDASIM_CURRENT();
    return report(cuMemcpyDtoD(address(to), address(from), size));
}

CUDASIM_RUNTIME cudaMemcpyPeerAsync(void *to, int, const void *from, int,
                                    size_t size, cudaStream_t stream)
{
    CUDASIM_CURRENT();
    return report(cuMemcpyDtoDAsync(address(to), address(from), size, stream));
}

CUDASIM_RUNTIME cudaMemcpy2D(void *to, size_t to_pitch, const void *from,
                             size_t from_pitch, size_t width, size_t height,
                             cudaMemcpyKind)
{
    CUDASIM_CURRENT();
    return report(copy_2d(to, to_pitch, from, from_pitch, width, height,
                          nullptr, true));
}

CUDASIM_RUNTIME cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from,
                                  size_t from_pitch, size_t width,
                                  size_t height, cudaMemcpyKind,
                                  cudaStream_t stream)
{
    CUDASIM_CURRENT();
    return report(copy_2d(to, to_pitch, from, from_pitch, width, height, stream,
                          false));
}

CUDASIM_RUNTIME cudaMemset(void *to, int value, size_t size)
{
    CUDASIM_CURRENT();
    return report(cuMemsetD8(address(to), static_cast<unsigned char>(value),
                             size));
}

CUDASIM_RUNTIME cudaMemsetAsync(void *to, int value, size_t size,
                                cudaStream_t stream)
{
    CUDASIM_CURRENT();
    return report(cuMemsetD8Async(address(to), static_cast<unsigned char>(value),
                                  size, stream));
}

/* Unlike the driver it answers for any address: memory of the host that CUDA
 * has not seen is "unregistered". */
CUDASIM_RUNTIME cudaPointerGetAttributes(cudaPointerAttributes *result,
                                         const void            *pointer)
{
    CUDASIM_CURRENT();
    unsigned            type = 0, managed = 0;
    int                 device = 0;
    CUdeviceptr         on_gpu = 0;
    void               *on_host = nullptr;
    CUpointer_attribute what[] = {
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE,    CU_POINTER_ATTRIBUTE_IS_MANAGED,
        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
        CU_POINTER_ATTRIBUTE_HOST_POINTER};
    void *values[] = {&type, &managed, &device, &on_gpu, &on_host};
    CUresult status = cuPointerGetAttributes(5, what, values, address(pointer));
    if (status != CUDA_SUCCESS) {
        return report(status);
    }
    memset(result, 0, sizeof(*result));
    result->type = managed ? cudaMemoryTypeManaged :
                   type == CU_MEMORYTYPE_DEVICE ? cudaMemoryTypeDevice :
                   type == CU_MEMORYTYPE_HOST ? cudaMemoryTypeHost :
                                                cudaMemoryTypeUnregistered;
    result->device        = device;
    result->devicePointer = reinterpret_cast<void *>(on_gpu);
    result->hostPointer   = type == 0 ? const_cast<void *>(pointer) : on_host;
    return cudaSuccess;
}

CUDASIM_RUNTIME cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *pointer)
{
    CUDASIM_CURRENT();
    static_assert(sizeof(cudaIpcMemHandle_t) == sizeof(CUipcMemHandle));
    return report(cuIpcGetMemHandle(reinterpret_cast<CUipcMemHandle *>(handle),
                                    address(pointer)));
}

CUDASIM_RUNTIME cudaIpcOpenMemHandle(void **result, cudaIpcMemHandle_t handle,
                                     unsigned flags)
{
    CUDASIM_CURRENT();
    CUipcMemHandle raw;
    memcpy(&raw, &handle, sizeof(raw));
    return report(cuIpcOpenMemHandle(address(result), raw, flags));
}

CUDASIM_RUNTIME cudaIpcCloseMemHandle(void *pointer)
{
    CUDASIM_CURRENT();
    return report(cuIpcCloseMemHandle(address(pointer)));
}
