/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "driver/copy.h"

using namespace cudasim;

namespace {

/* Anything: the driver finds out what it is. */
Rectangle any(CUdeviceptr address, size_t size)
{
    return {reinterpret_cast<void *>(address), size};
}

Rectangle any(const void *address, size_t size)
{
    return {address, size};
}

/* What the call says is memory of a GPU. */
Rectangle gpu(CUdeviceptr address, size_t size)
{
    return {reinterpret_cast<void *>(address), size, true};
}

CUresult copy_flat(Rectangle to, Rectangle from, CUstream stream, bool wait)
{
    return copy(to, from, to.pitch, 1, stream, wait);
}

} // namespace

CUDASIM_EXPORT CUresult CUDAAPI cuMemcpy(CUdeviceptr to, CUdeviceptr from,
                                         size_t size)
{
    return copy_flat(any(to, size), any(from, size), nullptr, true);
}

CUDASIM_EXPORT CUresult CUDAAPI cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from,
                                              size_t size, CUstream stream)
{
    return copy_flat(any(to, size), any(from, size), stream, false);
}

CUDASIM_EXPORT CUresult CUDAAPI cuMemcpyHtoD(CUdeviceptr to, const void *from,
                                             size_t size)
{
    return copy_flat(gpu(to, size), any(from, size), nullptr, true);
}

CUDASIM_EXPORT CUresult CUDAAPI cuMemcpyHtoDAsync(CUdeviceptr to,
                                                  const void *from, size_t size,
                                                  CUstream stream)
{
    return copy_flat(gpu(to, size), any(from, size), stream, false);
}

CUDASIM_EXPORT CUresult CUDAAPI cuMemcpyDtoH(void *to, CUdeviceptr from,
                                             size_t size)
{
    return copy_flat(any(to, size), gpu(from, size), nullptr, true);
}

CUDASIM_EXPORT CUresult CUDAAPI cuMemcpyDtoHAsync(void *to, CUdeviceptr from,
                                                  size_t size, CUstream stream)
{
    return copy_flat(any(to, size), gpu(from, size), stream, false);
}

CUDASIM_EXPORT CUresult CUDAAPI cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from,
                                             size_t size)
{
    return copy_flat(gpu(to, size), gpu(from, size), nullptr, true);
}

CUDASIM_EXPORT CUresult CUDAAPI cuMemcpyDtoDAsync(CUdeviceptr to,
                                                  CUdeviceptr from, size_t size,
                                                  CUstream stream)
{
    return copy_flat(gpu(to, size), gpu(from, size), stream, false);
}

/* With unified addresses the contexts say nothing new. */
CUDASIM_EXPORT CUresult CUDAAPI cuMemcpyPeer(CUdeviceptr to, CUcontext,
                                             CUdeviceptr from, CUcontext,
                                             size_t size)
{
    return copy_flat(gpu(to, size), gpu(from, size), nullptr, true);
}

CUDASIM_EXPORT CUresult CUDAAPI cuMemcpyPeerAsync(CUdeviceptr to, CUcontext,
                                                  CUdeviceptr from, CUcontext,
                                                  size_t size, CUstream stream)
{
    return copy_flat(gpu(to, size), gpu(from, size), stream, false);
}

namespace {

CUresult side(CUmemorytype type, const void *host, CUdeviceptr device,
              size_t pitch, size_t x, size_t y, Rectangle &rectangle)
{
    if (type == CU_MEMORYTYPE_ARRAY) {
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    const char *start = type == CU_MEMORYTYPE_HOST ?
                            static_cast<const char *>(host) :
                            reinterpret_cast<const char *>(device);
    rectangle = {start + y * pitch + x, pitch, type == CU_MEMORYTYPE_DEVICE};
    return CUDA_SUCCESS;
}

CUresult copy_2d(const CUDA_MEMCPY2D &c, CUstream stream, bool wait)
{
    Rectangle to, from;
    size_t    to_pitch   = c.dstPitch != 0 ? c.dstPitch : c.WidthInBytes;
    size_t    from_pitch = c.srcPitch != 0 ? c.srcPitch : c.WidthInBytes;
    CUresult  result = side(c.dstMemoryType, c.dstHost, c.dstDevice, to_pitch,
                            c.dstXInBytes, c.dstY, to);
    if (result == CUDA_SUCCESS) {
        result = side(c.srcMemoryType, c.srcHost, c.srcDevice, from_pitch,
                      c.srcXInBytes, c.srcY, from);
    }
    if (result == CUDA_SUCCESS) {
        result = copy(to, from, c.WidthInBytes, c.Height, stream, wait);
    }
    return result;
}

} // namespace

CUDASIM_EXPORT CUresult CUDAAPI cuMemcpy2D(const CUDA_MEMCPY2D *copy)
{
    return copy_2d(*copy, nullptr, true);
}

CUDASIM_EXPORT CUresult CUDAAPI cuMemcpy2DUnaligned(const CUDA_MEMCPY2D *copy)
{
    return copy_2d(*copy, nullptr, true);
}

CUDASIM_EXPORT CUresult CUDAAPI cuMemcpy2DAsync(const CUDA_MEMCPY2D *copy,
                                                CUstream             stream)
{
    return copy_2d(*copy, stream, false);
}

/* Counts are of elements; a fill with one row has no pitch. */
#define CUDASIM_FILL(_bits, _type)                                             \
    CUDASIM_EXPORT CUresult CUDAAPI cuMemsetD##_bits(CUdeviceptr to,           \
                                                     _type value, size_t count) \
    {                                                                          \
        return fill(to, 0, value, _bits / 8, count * (_bits / 8), 1, nullptr,  \
                    true);                                                     \
    }                                                                          \
    CUDASIM_EXPORT CUresult CUDAAPI cuMemsetD##_bits##Async(                   \
        CUdeviceptr to, _type value, size_t count, CUstream stream)            \
    {                                                                          \
        return fill(to, 0, value, _bits / 8, count * (_bits / 8), 1, stream,   \
                    false);                                                    \
    }                                                                          \
    CUDASIM_EXPORT CUresult CUDAAPI cuMemsetD2D##_bits(                        \
        CUdeviceptr to, size_t pitch, _type value, size_t width, size_t rows)  \
    {                                                                          \
        return fill(to, pitch, value, _bits / 8, width * (_bits / 8), rows,    \
                    nullptr, true);                                            \
    }                                                                          \
    CUDASIM_EXPORT CUresult CUDAAPI cuMemsetD2D##_bits##Async(                 \
        CUdeviceptr to, size_t pitch, _type value, size_t width, size_t rows,  \
        CUstream stream)                                                       \
    {                                                                          \
        return fill(to, pitch, value, _bits / 8, width * (_bits / 8), rows,    \
                    stream, false);                                            \
    }

CUDASIM_FILL(8, unsigned char)
CUDASIM_FILL(16, unsigned short)
CUDASIM_FILL(32, unsigned int)
