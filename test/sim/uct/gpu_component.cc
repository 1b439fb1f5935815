/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
/* In place of UCX's components for memory of GPUs, under their names: a memory domain
 * for the GPU of the process that is being opened, if it has one, and one for those of
 * other processes. */

#include "copy_iface.h"
#include "edge/unsupported_op.h"
#include "memory.h"

#include <cstring>

namespace fuselink::sim {
namespace {

struct GpuMd : uct_md_t {
    Process *process;
    bool     ipc;
};

Process &process_of(uct_md_h md)
{
    return *static_cast<GpuMd *>(md)->process;
}

uct_component_t component = {}, ipc_component = {};
uct_tl_t        copy_tl = {}, ipc_tl = {};

ucs_status_t query_mds(uct_component_t *of, uct_md_resource_desc_t **list,
                       unsigned *count)
{
    const Process *process = World::current != nullptr ?
                                 World::current->opening : nullptr;
    *count = process != nullptr && process->has_gpu() ? 1 : 0;
    *list  = static_cast<uct_md_resource_desc_t *>(
        ucs_calloc(1, sizeof(**list), "sim domains"));
    if (*list != nullptr) {
        ucs_snprintf_zero((*list)[0].md_name, UCT_MD_NAME_MAX, "%s",
                          of->name);
    }
    return UCS_OK;
}

ucs_status_t query_md(uct_md_h md, uct_md_attr_t *attr)
{
    memset(attr, 0, sizeof(*attr));
    attr->cap.max_reg          = ULONG_MAX;
    attr->cap.reg_mem_types    = UCS_BIT(UCS_MEMORY_TYPE_HOST);
    attr->cap.access_mem_types = UCS_BIT(UCS_MEMORY_TYPE_CUDA);
    attr->cap.detect_mem_types = UCS_BIT(UCS_MEMORY_TYPE_CUDA);
    attr->cap.flags            = UCT_MD_FLAG_REG;
    if (static_cast<GpuMd *>(md)->ipc) {
        attr->cap.reg_mem_types = UCS_BIT(UCS_MEMORY_TYPE_CUDA);
        attr->cap.flags        |= UCT_MD_FLAG_NEED_RKEY;
        attr->rkey_packed_size  = sizeof(MemoryKey);
    } else {
        attr->cap.max_alloc       = ULONG_MAX;
        attr->cap.alloc_mem_types = UCS_BIT(UCS_MEMORY_TYPE_CUDA);
        attr->cap.flags          |= UCT_MD_FLAG_ALLOC;
    }
    return UCS_OK;
}

/* Pins memory of the host for the GPU. */
ucs_status_t pin(uct_md_h md, void *address, size_t length, unsigned,
                 uct_mem_h *memh)
{
    Process &process = process_of(md);
    process.world().spend(1000, 20000);
    if (process.registrations_to_fail != 0) {
        --process.registrations_to_fail;
        process.world().count(Count::NoMemory);
        return UCS_ERR_NO_MEMORY;
    }
    *memh = &process.enter(reinterpret_cast<uintptr_t>(address), length);
    return UCS_OK;
}

ucs_status_t unpin(uct_md_h md, const uct_md_mem_dereg_params_t *params)
{
    process_of(md).leave(*static_cast<Registration *>(params->memh));
    return UCS_OK;
}

ucs_status_t detect(uct_md_h md, const void *address, size_t,
                    ucs_memory_type_t *type)
{
    if (!process_of(md).is_device(reinterpret_cast<uintptr_t>(address))) {
        return UCS_ERR_INVALID_ADDR;
    }
    *type = UCS_MEMORY_TYPE_CUDA;
    return UCS_OK;
}

ucs_status_t pack_key(uct_md_h md, uct_mem_h memh,
                      const uct_md_mkey_pack_params_t *, void *out)
{
    MemoryKey key{static_cast<Registration *>(memh)->key,
                  process_of(md).index(), kKeyCheck};
    memcpy(out, &key, sizeof(key));
    return UCS_OK;
}

ucs_status_t allocate(uct_md_h md, size_t *length, void **address,
                      ucs_memory_type_t, unsigned, const char *,
                      uct_mem_h *memh)
{
    Process &process = process_of(md);
    if (process.registrations_to_fail != 0) {
        --process.registrations_to_fail;
        return UCS_ERR_NO_MEMORY;
    }
    *address = reinterpret_cast<void *>(process.allocate_device(*length));
    *memh    = *address;
    return UCS_OK;
}

ucs_status_t free_memory(uct_md_h md, uct_mem_h memh)
{
    process_of(md).free_device(reinterpret_cast<uintptr_t>(memh));
    return UCS_OK;
}

uct_md_ops_t md_ops = {
    .close                  = [](uct_md_h md) {
        delete static_cast<GpuMd *>(md);
    },
    .query                  = query_md,
    .mem_alloc              = allocate,
    .mem_free               = free_memory,
    .mem_advise             = kUnsupportedOp,
    .mem_reg                = pin,
    .mem_dereg              = unpin,
    .mem_query              = kUnsupportedOp,
    .mkey_pack              = pack_key,
    .is_sockaddr_accessible = [](uct_md_h, const ucs_sock_addr_t *,
                                 uct_sockaddr_accessibility_t) { return 0; },
    .detect_memory_type     = detect,
};

ucs_status_t open_md(uct_component_t *of, const char *, const uct_md_config_t *,
                     uct_md_h *md_p)
{
    auto *md      = new GpuMd;
    md->ops       = &md_ops;
    md->component = of;
    md->process   = World::current->opening;
    md->ipc       = of == &ipc_component;
    *md_p         = md;
    return UCS_OK;
}

ucs_status_t open_copy_iface(uct_md_h md, uct_worker_h worker,
                             const uct_iface_params_t *params,
                             const uct_iface_config_t *config,
                             uct_iface_h              *iface_p)
{
    auto         iface  = std::make_unique<CopyIface>(
        process_of(md), static_cast<GpuMd *>(md)->ipc);
    ucs_status_t status = iface->init(md, worker, params, config);
    if (status == UCS_OK) {
        *iface_p = &iface.release()->super;
    }
    return status;
}

ucs_status_t list_devices(uct_md_h, uct_tl_device_resource_t **list,
                          unsigned *count)
{
    *count = 1;
    *list  = static_cast<uct_tl_device_resource_t *>(
        ucs_calloc(1, sizeof(**list), "sim devices"));
    if (*list == nullptr) {
        return UCS_ERR_NO_MEMORY;
    }
    ucs_snprintf_zero((*list)[0].name, sizeof((*list)[0].name), "cuda");
    (*list)[0].type       = UCT_DEVICE_TYPE_ACC;
    (*list)[0].sys_device = UCS_SYS_DEVICE_ID_UNKNOWN;
    return UCS_OK;
}

} // namespace

void register_gpu_component()
{
    fill_component(component, "cuda_cpy", query_mds, open_md);
    uct_component_register(&component);
    add_transport(component, copy_tl, "cuda_copy", "SIM_CUDA_COPY_",
                  list_devices, open_copy_iface);
    fill_component(ipc_component, "cuda_ipc", query_mds, open_md);
    uct_component_register(&ipc_component);
    add_transport(ipc_component, ipc_tl, "cuda_ipc", "SIM_CUDA_IPC_",
                  list_devices, open_copy_iface);
}

} // namespace fuselink::sim
