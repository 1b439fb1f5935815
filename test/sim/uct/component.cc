/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
/* The UCT component `sim`: a memory domain for the stream NICs of the process that
 * is being opened, and one for each of its RDMA NICs. */

#include "memory.h"

#include "datagram_iface.h"
#include "edge/unsupported_op.h"
#include "pair_iface.h"
#include "stream_iface.h"

#include <cstring>
#include <string>

namespace fuselink::sim {
namespace {

constexpr size_t kMostRdma = 16;

struct SimMd : uct_md_t {
    Process *process;
    int      rdma; /* its NIC; -1: that of streams */
};

SimMd &from(uct_md_h md)
{
    return *static_cast<SimMd *>(md);
}

uct_component_t component = {};
uct_tl_t        stream_tl = {}, pair_tl = {}, datagram_tl = {};

ucs_status_t query_mds(uct_component_t *, uct_md_resource_desc_t **list,
                       unsigned *count)
{
    Process *process = World::current != nullptr ? World::current->opening :
                                                   nullptr;
    *count = 0;
    *list  = static_cast<uct_md_resource_desc_t *>(
        ucs_calloc(1 + kMostRdma, sizeof(**list), "sim domains"));
    if (process == nullptr || *list == nullptr) {
        return UCS_OK;
    }
    auto add = [&](const std::string &name) {
        ucs_snprintf_zero((*list)[(*count)++].md_name, UCT_MD_NAME_MAX, "%s",
                          name.c_str());
    };
    if (process->world().profile().ip) {
        add("sim");
    }
    if (process->world().profile().rdma) {
        const size_t nics = std::min(
            kMostRdma, process->world().nics(process->node()).size());
        for (size_t i = 0; i < nics; ++i) {
            add("sim_rdma" + std::to_string(i));
        }
    }
    return UCS_OK;
}

void close_md(uct_md_h md)
{
    delete &from(md);
}

void fill(const SimMd &md, uct_md_attr_t *attr)
{
    memset(attr, 0, sizeof(*attr));
    attr->cap.max_reg          = md.rdma >= 0 ? ULONG_MAX : 0;
    attr->cap.access_mem_types = UCS_BIT(UCS_MEMORY_TYPE_HOST);
    attr->cap.reg_mem_types    = md.rdma >= 0 ? UCS_BIT(UCS_MEMORY_TYPE_HOST) :
                                                0;
    if (md.rdma >= 0 && md.process->world().profile().reaches_gpus) {
        attr->cap.reg_mem_types |= UCS_BIT(UCS_MEMORY_TYPE_CUDA);
    }
    attr->cap.flags            = md.rdma >= 0 ?
                                     UCT_MD_FLAG_REG | UCT_MD_FLAG_NEED_MEMH |
                                     UCT_MD_FLAG_NEED_RKEY : 0;
    attr->rkey_packed_size     = md.rdma >= 0 ? sizeof(MemoryKey) : 0;
    attr->reg_cost             = ucs_linear_func_make(1e-6, 0);
}

ucs_status_t query_md(uct_md_h md, uct_md_attr_t *attr)
{
    fill(from(md), attr);
    return UCS_OK;
}

ucs_status_t register_memory(uct_md_h md, void *address, size_t length,
                             unsigned, uct_mem_h *memh)
{
    Process &process = *from(md).process;
    process.world().spend(1000, 20000);
    if (process.registrations_to_fail != 0) {
        --process.registrations_to_fail;
        process.world().count(Count::NoMemory);
        return UCS_ERR_NO_MEMORY;
    }
    const auto base = reinterpret_cast<uintptr_t>(address);
    if (process.is_device(base) && !process.world().profile().reaches_gpus) {
        return UCS_ERR_INVALID_ADDR;
    }
    *memh = &process.enter(base, length);
    return UCS_OK;
}

ucs_status_t end_registration(uct_md_h md,
                              const uct_md_mem_dereg_params_t *params)
{
    from(md).process->leave(*static_cast<Registration *>(params->memh));
    return UCS_OK;
}

ucs_status_t pack_key(uct_md_h md, uct_mem_h memh,
                      const uct_md_mkey_pack_params_t *, void *out)
{
    MemoryKey key{static_cast<Registration *>(memh)->key,
                  from(md).process->index(), kKeyCheck};
    memcpy(out, &key, sizeof(key));
    return UCS_OK;
}

ucs_status_t unpack_key(uct_component_t *, const void *buffer,
                        uct_rkey_t *rkey, void **handle)
{
    auto *key = new MemoryKey;
    memcpy(key, buffer, sizeof(*key));
    if (key->check != kKeyCheck) {
        delete key;
        return UCS_ERR_INVALID_PARAM;
    }
    *rkey   = reinterpret_cast<uct_rkey_t>(key);
    *handle = nullptr;
    return UCS_OK;
}

ucs_status_t release_key(uct_component_t *, uct_rkey_t rkey, void *)
{
    delete reinterpret_cast<MemoryKey *>(rkey);
    return UCS_OK;
}

uct_md_ops_t md_ops = {
    .close                  = close_md,
    .query                  = query_md,
    .mem_alloc              = kUnsupportedOp,
    .mem_free               = kUnsupportedOp,
    .mem_advise             = kUnsupportedOp,
    .mem_reg                = register_memory,
    .mem_dereg              = end_registration,
    .mem_query              = kUnsupportedOp,
    .mkey_pack              = pack_key,
    .is_sockaddr_accessible = [](uct_md_h, const ucs_sock_addr_t *,
                                 uct_sockaddr_accessibility_t) { return 0; },
    .detect_memory_type     = kUnsupportedOp,
};

ucs_status_t open_md(uct_component_t *, const char *name,
                     const uct_md_config_t *, uct_md_h *md_p)
{
    auto *md      = new SimMd;
    md->ops       = &md_ops;
    md->component = &component;
    md->process   = World::current->opening;
    md->rdma      = strcmp(name, "sim") == 0 ? -1 : atoi(name + 8);
    *md_p         = md;
    return UCS_OK;
}

template <typename Fn>
ucs_status_t list_devices(uct_md_h md, uct_tl_device_resource_t **list,
                          unsigned *count, bool rdma, Fn &&name)
{
    auto &nics = from(md).process->world().nics(from(md).process->node());
    *count     = 0;
    *list      = static_cast<uct_tl_device_resource_t *>(
        ucs_calloc(nics.size(), sizeof(**list), "sim devices"));
    if (*list == nullptr) {
        return UCS_ERR_NO_MEMORY;
    }
    for (const Nic &nic : nics) {
        /* UCX leaves out an interface that does not run. */
        if (rdma ? from(md).rdma != static_cast<int>(nic.index) :
                   from(md).rdma >= 0 || !nic.plugged) {
            continue;
        }
        auto &device = (*list)[(*count)++];
        ucs_snprintf_zero(device.name, sizeof(device.name), "%s",
                          name(nic).c_str());
        device.type       = UCT_DEVICE_TYPE_NET;
        device.sys_device = UCS_SYS_DEVICE_ID_UNKNOWN;
    }
    return UCS_OK;
}

template <typename Iface>
ucs_status_t open_iface(uct_md_h md, uct_worker_h worker,
                        const uct_iface_params_t *params,
                        const uct_iface_config_t *config, uct_iface_h *iface_p)
{
    Process &process = *from(md).process;
    for (Nic &nic : process.world().nics(process.node())) {
        const char *device = params->mode.device.dev_name;
        if (nic.ip_device != device && nic.rdma_device != device) {
            continue;
        }
        auto         iface  = std::make_unique<Iface>(process, nic);
        ucs_status_t status = iface->init(md, worker, params, config);
        if (status == UCS_OK) {
            *iface_p = &iface.release()->super;
        }
        return status;
    }
    return UCS_ERR_NO_DEVICE;
}

template <typename T, size_t N> void set_name(const T (&field)[N],
                                              const char *name)
{
    strncpy(const_cast<char *>(field), name, N - 1);
}

struct Config {
    uct_iface_config_t super;
    int                nonblocking;
    unsigned           most_polls;
};

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
ucs_config_field_t iface_config[] = {
    {"", "", nullptr, offsetof(Config, super),
     UCS_CONFIG_TYPE_TABLE(uct_iface_config_table)},
    {"CONN_NB", "n", "as UCX's TCP; of no effect, it always is", offsetof(Config, nonblocking),
     UCS_CONFIG_TYPE_BOOL},
    {"MAX_POLL", "1", "as UCX's TCP; of no effect, it always is", offsetof(Config, most_polls),
     UCS_CONFIG_TYPE_UINT},
    {nullptr, nullptr, nullptr, 0, {}}};
ucs_config_field_t no_config[] = {
    {"", "", nullptr, 0, UCS_CONFIG_TYPE_TABLE(uct_md_config_table)},
    {nullptr, nullptr, nullptr, 0, {}}};
#pragma GCC diagnostic pop

} // namespace

void fill_component(uct_component_t &one, const char *name,
                    decltype(uct_component_t::query_md_resources) mds,
                    decltype(uct_component_t::md_open)            open)
{
    set_name(one.name, name);
    one.query_md_resources = mds;
    one.md_open            = open;
    one.cm_open = [](uct_component_t *, uct_worker_h, const uct_cm_config_t *,
                     uct_cm_h *) { return UCS_ERR_UNSUPPORTED; };
    one.rkey_unpack = unpack_key;
    one.rkey_ptr = [](uct_component_t *, uct_rkey_t, void *, uint64_t,
                      void **) { return UCS_ERR_UNSUPPORTED; };
    one.rkey_release     = release_key;
    one.md_config.name   = "sim domain";
    one.md_config.prefix = "SIM_";
    one.md_config.table  = no_config;
    one.md_config.size   = sizeof(uct_md_config_t);
    one.cm_config.name   = "";
    one.cm_config.prefix = "";
    one.md_vfs_init      = [](uct_md_h) {};
    ucs_list_head_init(&one.tl_list);
}

void add_transport(uct_component_t &one, uct_tl_t &tl, const char *name,
                   const char *prefix,
                   decltype(uct_tl_t::query_devices) devices,
                   decltype(uct_tl_t::iface_open)    open)
{
    set_name(tl.name, name);
    tl.query_devices = devices;
    tl.iface_open    = open;
    tl.config.name   = name;
    tl.config.prefix = prefix;
    tl.config.table  = iface_config;
    tl.config.size   = sizeof(Config);
    uct_tl_register(&one, &tl);
}

void register_component()
{
    fill_component(component, "sim", query_mds, open_md);
    uct_component_register(&component);
    add_transport(
        component, stream_tl, "sim_tcp", "SIM_TCP_",
        [](uct_md_h md, uct_tl_device_resource_t **list, unsigned *count) {
            return list_devices(md, list, count, false, [](const Nic &nic) {
                return nic.ip_device;
            });
        },
        open_iface<StreamIface>);
    add_transport(
        component, pair_tl, "sim_rc", "SIM_RC_",
        [](uct_md_h md, uct_tl_device_resource_t **list, unsigned *count) {
            if (!from(md).process->world().profile().queue_pairs) {
                *list  = nullptr;
                *count = 0;
                return UCS_OK;
            }
            return list_devices(md, list, count, true, [](const Nic &nic) {
                return nic.rdma_device;
            });
        },
        open_iface<PairIface>);
    add_transport(
        component, datagram_tl, "sim_ud", "SIM_UD_",
        [](uct_md_h md, uct_tl_device_resource_t **list, unsigned *count) {
            return list_devices(md, list, count, true, [](const Nic &nic) {
                return nic.rdma_device;
            });
        },
        open_iface<DatagramIface>);
}

} // namespace fuselink::sim
