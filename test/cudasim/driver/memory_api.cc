/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "driver/context.h"
#include "driver/hooked.h"

using namespace cudasim;

namespace {

void *pointer(CUdeviceptr address)
{
    return reinterpret_cast<void *>(address);
}

CUdeviceptr address(const void *pointer)
{
    return reinterpret_cast<CUdeviceptr>(pointer);
}

/* The block that begins at this address and is of one of two kinds. */
BlockRef starts(Driver &driver, const void *where, Block::Kind kind,
                Block::Kind other)
{
    BlockRef block = driver.memory.find(where);
    return block != nullptr && block->base == where &&
                   (block->kind == kind || block->kind == other) ?
               block : nullptr;
}

CUresult allocate(CUdeviceptr *result, size_t size)
{
    CUDASIM_DRIVER(driver);
    CUDASIM_CONTEXT(context);
    if (result == nullptr || size == 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    BlockRef block;
    if (!driver->faults.hits(Fault::Alloc, context->gpu)) {
        block = driver->memory.allocate(context->gpu, size);
    }
    if (block == nullptr) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    block->context = context;
    *result        = address(block->base);
    return CUDA_SUCCESS;
}

/* Freeing waits for the work that was given before, as on a GPU. */
CUresult free_block(Driver &driver, const BlockRef &block)
{
    auto context = static_cast<CUcontext>(block->context);
    if (Engine::in_call()) {
        return CUDA_ERROR_NOT_PERMITTED;
    }
    if (context != nullptr && Contexts::get().valid(context)) {
        driver.engine.wait(*context->group);
    }
    driver.memory.remove(block);
    return CUDA_SUCCESS;
}

} // namespace

CUDASIM_BEHIND(cuMemAlloc_v2)(CUdeviceptr *result, size_t size)
{
    return allocate(result, size);
}
CUDASIM_HOOKED(cuMemAlloc_v2);

CUDASIM_BEHIND(cuMemAllocPitch_v2)(CUdeviceptr *result, size_t *pitch,
                                   size_t width, size_t height, unsigned)
{
    constexpr size_t kAlign = 512;
    if (pitch == nullptr || width == 0 || height == 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *pitch = (width + kAlign - 1) / kAlign * kAlign;
    return allocate(result, *pitch * height);
}
CUDASIM_HOOKED(cuMemAllocPitch_v2);

CUDASIM_BEHIND(cuMemAllocManaged)(CUdeviceptr *result, size_t size,
                                  unsigned flags)
{
    CUDASIM_DRIVER(driver);
    CUDASIM_CONTEXT(context);
    if (result == nullptr || size == 0 ||
        (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    BlockRef block;
    if (!driver->faults.hits(Fault::Alloc, context->gpu)) {
        block = driver->memory.allocate_managed(context->gpu, size);
    }
    if (block == nullptr) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    block->context = context;
    *result        = address(block->base);
    return CUDA_SUCCESS;
}
CUDASIM_HOOKED(cuMemAllocManaged);

CUDASIM_BEHIND(cuMemFree_v2)(CUdeviceptr where)
{
    CUDASIM_DRIVER(driver);
    if (where == 0) {
        return CUDA_SUCCESS;
    }
    BlockRef block = starts(*driver, pointer(where), Block::Kind::Device,
                            Block::Kind::Managed);
    return block != nullptr ? free_block(*driver, block) :
                              CUDA_ERROR_INVALID_VALUE;
}
CUDASIM_HOOKED(cuMemFree_v2);

CUDASIM_BEHIND(cuMemFreeHost)(void *where)
{
    CUDASIM_DRIVER(driver);
    BlockRef block = starts(*driver, where, Block::Kind::Host,
                            Block::Kind::Host);
    return block != nullptr ? free_block(*driver, block) :
                              CUDA_ERROR_INVALID_VALUE;
}
CUDASIM_HOOKED(cuMemFreeHost);

CUDASIM_EXPORT CUresult CUDAAPI cuMemGetInfo(size_t *free, size_t *total)
{
    CUDASIM_DRIVER(driver);
    CUDASIM_CONTEXT(context);
    *free  = driver->memory.free_bytes(context->gpu);
    *total = driver->topology.gpus()[context->gpu].memory;
    return CUDA_SUCCESS;
}

CUDASIM_EXPORT CUresult CUDAAPI cuMemGetAddressRange(CUdeviceptr *base,
                                                     size_t      *size,
                                                     CUdeviceptr  where)
{
    CUDASIM_DRIVER(driver);
    BlockRef block = driver->memory.find(pointer(where));
    if (block == nullptr || (block->kind != Block::Kind::Device &&
                             block->kind != Block::Kind::Imported)) {
        return CUDA_ERROR_NOT_FOUND; /* managed memory has none either */
    }
    if (base != nullptr) {
        *base = address(block->base);
    }
    if (size != nullptr) {
        *size = block->size;
    }
    return CUDA_SUCCESS;
}

CUDASIM_EXPORT CUresult CUDAAPI cuMemHostAlloc(void **result, size_t size,
                                               unsigned flags)
{
    CUDASIM_DRIVER(driver);
    CUDASIM_CONTEXT(context);
    if (result == nullptr || size == 0 ||
        flags > (CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP |
                 CU_MEMHOSTALLOC_WRITECOMBINED)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    BlockRef block;
    if (!driver->faults.hits(Fault::HostAlloc)) {
        block = driver->memory.allocate_host(size);
    }
    if (block == nullptr) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    block->context = context;
    block->flags   = flags;
    *result        = block->base;
    return CUDA_SUCCESS;
}

CUDASIM_EXPORT CUresult CUDAAPI cuMemAllocHost(void **result, size_t size)
{
    return cuMemHostAlloc(result, size, 0);
}

CUDASIM_EXPORT CUresult CUDAAPI cuMemHostRegister(void *where, size_t size,
                                                  unsigned flags)
{
    CUDASIM_DRIVER(driver);
    CUDASIM_CONTEXT(context);
    if (where == nullptr || size == 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (flags & CU_MEMHOSTREGISTER_IOMEMORY) {
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    if (driver->faults.hits(Fault::HostRegister)) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    BlockRef block = driver->memory.register_host(where, size);
    if (block == nullptr) {
        return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    }
    block->context = context;
    block->flags   = flags;
    return CUDA_SUCCESS;
}

CUDASIM_EXPORT CUresult CUDAAPI cuMemHostUnregister(void *where)
{
    CUDASIM_DRIVER(driver);
    BlockRef block = starts(*driver, where, Block::Kind::Registered,
                            Block::Kind::Registered);
    return block != nullptr ? free_block(*driver, block) :
                              CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
}

CUDASIM_EXPORT CUresult CUDAAPI cuMemHostGetDevicePointer(CUdeviceptr *result,
                                                          void *where, unsigned)
{
    CUDASIM_DRIVER(driver);
    BlockRef block = driver->memory.find(where);
    if (block == nullptr || block->on_gpu()) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *result = address(where); /* unified addressing */
    return CUDA_SUCCESS;
}

CUDASIM_EXPORT CUresult CUDAAPI cuMemHostGetFlags(unsigned *flags, void *where)
{
    CUDASIM_DRIVER(driver);
    BlockRef block = driver->memory.find(where);
    if (block == nullptr || block->on_gpu()) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *flags = block->flags | CU_MEMHOSTALLOC_DEVICEMAP;
    return CUDA_SUCCESS;
}
