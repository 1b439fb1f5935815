/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "driver/context.h"

#include <cstring>

using namespace cudasim;

namespace {

CUmemorytype type_of(const Block &block)
{
    return block.on_gpu() ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
}

/* One attribute of an address; block is nullptr where the driver knows none. */
CUresult attribute(Driver &driver, CUpointer_attribute what, void *data,
                   CUdeviceptr where, const Block *block)
{
    auto put = [data](auto value) {
        memcpy(data, &value, sizeof(value));
        return CUDA_SUCCESS;
    };
    const bool known = block != nullptr;
    switch (what) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        return put(known ? block->context : nullptr);
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        return put(known ? static_cast<unsigned>(type_of(*block)) : 0u);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        return put(known ? where : CUdeviceptr(0));
    case CU_POINTER_ATTRIBUTE_HOST_POINTER: {
        bool host = known && (!block->on_gpu() ||
                              block->kind == Block::Kind::Managed);
        return put(reinterpret_cast<void *>(host ? where : 0));
    }
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
        return put(known && (block->flags & 0x80000000u) ? 1u : 0u);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        return put(known ? block->id : 0ull);
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        return put(known && block->kind == Block::Kind::Managed ? 1u : 0u);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: {
        /* Of a GPU that this process may not see: its own copy's, 0. */
        int device = known && block->on_gpu() ? driver.device_of(block->gpu) :
                     known ? 0 : -2;
        return put(device == -1 ? 0 : device);
    }
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        return put(known && block->kind == Block::Kind::Device ? 1u : 0u);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        return put(known ? reinterpret_cast<CUdeviceptr>(block->base) :
                           CUdeviceptr(0));
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        return put(known ? block->size : size_t(0));
    case CU_POINTER_ATTRIBUTE_MAPPED:
        return put(known ? 1u : 0u);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
        return put(0u);
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

BlockRef block_of(Driver &driver, CUdeviceptr where)
{
    return driver.memory.find(reinterpret_cast<void *>(where));
}

} // namespace

CUDASIM_EXPORT CUresult CUDAAPI cuPointerGetAttribute(void *data,
                                                      CUpointer_attribute what,
                                                      CUdeviceptr where)
{
    CUDASIM_DRIVER(driver);
    BlockRef block = block_of(*driver, where);
    if (block == nullptr) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    return attribute(*driver, what, data, where, block.get());
}

/* Unlike the one above it takes any address. */
CUDASIM_EXPORT CUresult CUDAAPI cuPointerGetAttributes(
    unsigned count, CUpointer_attribute *what, void **data, CUdeviceptr where)
{
    CUDASIM_DRIVER(driver);
    BlockRef block = block_of(*driver, where);
    for (unsigned i = 0; i < count; ++i) {
        CUresult result =
            attribute(*driver, what[i], data[i], where, block.get());
        if (result != CUDA_SUCCESS) {
            return result;
        }
    }
    return CUDA_SUCCESS;
}

/* All copies of a process are ordered as it asked for, so there is nothing to
 * do but to remember it. */
CUDASIM_EXPORT CUresult CUDAAPI cuPointerSetAttribute(const void *value,
                                                      CUpointer_attribute what,
                                                      CUdeviceptr where)
{
    CUDASIM_DRIVER(driver);
    BlockRef block = block_of(*driver, where);
    if (block == nullptr || !block->on_gpu() ||
        what != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (*static_cast<const unsigned *>(value) != 0) {
        block->flags |= 0x80000000u;
    } else {
        block->flags &= ~0x80000000u;
    }
    return CUDA_SUCCESS;
}
