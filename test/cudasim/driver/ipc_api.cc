/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "driver/context.h"

#include <cstring>
#include <map>

using namespace cudasim;

namespace {

/* What has been opened: a second time it is the same mapping. */
struct Opened {
    std::mutex                                        mutex;
    std::map<std::pair<uint64_t, uint64_t>, BlockRef> blocks;

    static Opened &get()
    {
        static Opened *opened = new Opened;
        return *opened;
    }
};

} // namespace

CUDASIM_EXPORT CUresult CUDAAPI cuIpcGetMemHandle(CUipcMemHandle *result,
                                                  CUdeviceptr     where)
{
    CUDASIM_DRIVER(driver);
    BlockRef block = driver->memory.find(reinterpret_cast<void *>(where));
    if (block == nullptr || block->kind != Block::Kind::Device) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (driver->faults.hits(Fault::IpcExport, block->gpu)) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    Handle handle = driver->memory.export_block(*block);
    memset(result, 0, sizeof(*result));
    memcpy(result, &handle, sizeof(handle));
    return CUDA_SUCCESS;
}

CUDASIM_EXPORT CUresult CUDAAPI cuIpcOpenMemHandle(CUdeviceptr   *result,
                                                   CUipcMemHandle raw,
                                                   unsigned       flags)
{
    CUDASIM_DRIVER(driver);
    CUDASIM_CONTEXT(context);
    Handle handle;
    memcpy(&handle, &raw, sizeof(handle));
    if (flags > CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (handle.gpu < 0 ||
        handle.gpu >= static_cast<int>(driver->topology.gpus().size())) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (driver->faults.hits(Fault::IpcOpen, handle.gpu, context->gpu)) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (!driver->peers(context->gpu, handle.gpu)) {
        return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
    }
    Opened         &opened = Opened::get();
    std::lock_guard guard(opened.mutex);
    std::pair       key(handle.process, handle.block);
    auto            known = opened.blocks.find(key);
    if (known != opened.blocks.end()) {
        ++known->second->opened;
        *result = reinterpret_cast<CUdeviceptr>(known->second->base);
        return CUDA_SUCCESS;
    }
    BlockRef block;
    switch (driver->memory.import_block(handle, block)) {
    case Memory::Import::Ok:
        break;
    case Memory::Import::OwnProcess:
        return CUDA_ERROR_INVALID_CONTEXT;
    case Memory::Import::NoMemory:
        return CUDA_ERROR_OUT_OF_MEMORY;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
    block->context     = context;
    opened.blocks[key] = block;
    *result            = reinterpret_cast<CUdeviceptr>(block->base);
    return CUDA_SUCCESS;
}

CUDASIM_EXPORT CUresult CUDAAPI cuIpcCloseMemHandle(CUdeviceptr where)
{
    CUDASIM_DRIVER(driver);
    Opened         &opened = Opened::get();
    std::lock_guard guard(opened.mutex);
    for (auto it = opened.blocks.begin(); it != opened.blocks.end(); ++it) {
        if (reinterpret_cast<CUdeviceptr>(it->second->base) == where) {
            if (--it->second->opened == 0) {
                driver->memory.remove(it->second);
                opened.blocks.erase(it);
            }
            return CUDA_SUCCESS;
        }
    }
    return CUDA_ERROR_INVALID_VALUE;
}
