/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "pool.h"

#include "gpu_context.h"

#include <algorithm>

namespace fuselink {

std::unique_ptr<RelayPool> RelayPool::allocate(UctMd &copies, UctMd &ipc,
                                               RelayRegistry::Offer &offer,
                                               std::string &error)
{
    std::unique_ptr<RelayPool> pool(new RelayPool(ipc));
    uct_alloc_method_t         method = UCT_ALLOC_METHOD_MD;
    uct_md_h                   md     = copies.handle();
    uct_mem_alloc_params_t     params{};
    params.field_mask = UCT_MEM_ALLOC_PARAM_FIELD_MDS |
                        UCT_MEM_ALLOC_PARAM_FIELD_MEM_TYPE |
                        UCT_MEM_ALLOC_PARAM_FIELD_FLAGS |
                        UCT_MEM_ALLOC_PARAM_FIELD_NAME;
    params.flags     = UCT_MD_MEM_ACCESS_ALL | UCT_MD_MEM_FLAG_HIDE_ERRORS;
    params.name      = "fuselink relay";
    params.mem_type  = UCS_MEMORY_TYPE_CUDA;
    params.mds.mds   = &md;
    params.mds.count = 1;
    ucs_status_t status = uct_mem_alloc(size_t{offer.slot_size} * offer.slots,
                                        &method, 1, &params, &pool->memory_);
    if (status != UCS_OK) {
        pool->memory_.address = nullptr;
        error = std::string("no memory of the GPU: ") +
                ucs_status_string(status);
        return nullptr;
    }
    status = uct_md_mem_reg(ipc.handle(), pool->memory_.address,
                            pool->memory_.length,
                            UCT_MD_MEM_ACCESS_ALL | UCT_MD_MEM_FLAG_HIDE_ERRORS,
                            &pool->memh_);
    if (status != UCS_OK) {
        pool->memh_ = nullptr;
        error = std::string("memory that others cannot reach: ") +
                ucs_status_string(status);
        return nullptr;
    }
    if (ipc.rkey_size() > sizeof(offer.key) ||
        uct_md_mkey_pack(ipc.handle(), pool->memh_, offer.key) != UCS_OK) {
        error = "no key of the GPU's memory";
        return nullptr;
    }
    offer.key_length = static_cast<uint32_t>(ipc.rkey_size());
    offer.base       = reinterpret_cast<uintptr_t>(pool->memory_.address);
    GpuContext::Handle handle;
    offer.mappable = GpuContext::export_memory(pool->memory_.address, handle);
    if (offer.mappable != 0) {
        std::copy(handle.begin(), handle.end(), offer.memory);
    }
    return pool;
}

RelayPool::~RelayPool()
{
    if (memh_ != nullptr) {
        uct_md_mem_dereg(ipc_.handle(), memh_);
    }
    if (memory_.address != nullptr) {
        uct_mem_free(&memory_);
    }
}

} // namespace fuselink
