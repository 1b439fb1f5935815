/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "alias_component.h"

#include "../config/ucx_tls.h"
#include "alias_iface.h"
#include "alias_md.h"
#include "component.h"

#include <cstdlib>
#include <cstring>

namespace fuselink {
namespace {

/* In the data segment, never torn down: UCT keeps pointers for good. */
AliasComponent aliases[] = {
    {{}, "fuselink_gpu", "cuda_cpy", "cuda_copy", "gpu",
     wire::DeviceKind::Gpu, "cuda", {}},
    {{}, "fuselink_gpus", "cuda_ipc", "cuda_ipc", "gpus",
     wire::DeviceKind::Gpus, "cuda", {}},
};

/* An alias has no settings: those of the real one apply. */
ucs_config_field_t no_settings[] = {{nullptr, nullptr, nullptr, 0, {}}};

ucs_status_t query_md_resources(uct_component_t *component,
                                uct_md_resource_desc_t **resources,
                                unsigned *count)
{
    const AliasComponent &alias = AliasComponent::from(component);
    uct_component_h       real  = alias.real();
    if (real == nullptr || ucx_may_enable(getenv("UCX_TLS"),
                                          {"all", alias.real_tl,
                                           alias.group})) {
        return uct_md_query_empty_md_resource(resources, count);
    }
    return real->query_md_resources(real, resources, count);
}

/* Keys are asked for without a memory domain; they are the real one's. */
#ifdef FUSELINK_HAS_UCT_RKEY_UNPACK_PARAMS_T

ucs_status_t rkey_unpack(uct_component_t *component, const void *buffer,
                         const uct_rkey_unpack_params_t *params,
                         uct_rkey_t *rkey, void **handle)
{
    uct_component_h real = AliasComponent::from(component).real();
    return real->rkey_unpack(real, buffer, params, rkey, handle);
}

#else

ucs_status_t rkey_unpack(uct_component_t *component, const void *buffer,
                         uct_rkey_t *rkey, void **handle)
{
    uct_component_h real = AliasComponent::from(component).real();
    return real->rkey_unpack(real, buffer, rkey, handle);
}

#endif

#ifdef FUSELINK_HAS_UCT_RKEY_COMPARE_PARAMS_T

ucs_status_t rkey_compare(uct_component_t *component, uct_rkey_t rkey1,
                          uct_rkey_t rkey2,
                          const uct_rkey_compare_params_t *params, int *result)
{
    uct_component_h real = AliasComponent::from(component).real();
    return real->rkey_compare(real, rkey1, rkey2, params, result);
}

#endif

ucs_status_t rkey_ptr(uct_component_t *component, uct_rkey_t rkey,
                      void *handle, uint64_t remote, void **local)
{
    uct_component_h real = AliasComponent::from(component).real();
    return real->rkey_ptr(real, rkey, handle, remote, local);
}

ucs_status_t rkey_release(uct_component_t *component, uct_rkey_t rkey,
                          void *handle)
{
    uct_component_h real = AliasComponent::from(component).real();
    return real->rkey_release(real, rkey, handle);
}

ucs_status_t cm_open(uct_component_t *, uct_worker_h, const uct_cm_config_t *,
                     uct_cm_h *)
{
    return UCS_ERR_UNSUPPORTED;
}

void register_alias(AliasComponent &alias)
{
    strncpy(const_cast<char *>(alias.name), alias.own_name,
            sizeof(alias.name) - 1);
    alias.query_md_resources = query_md_resources;
    alias.md_open            = AliasMd::open;
    alias.cm_open            = cm_open;
    alias.rkey_unpack        = rkey_unpack;
    alias.rkey_ptr           = rkey_ptr;
    alias.rkey_release       = rkey_release;
#ifdef FUSELINK_HAS_UCT_RKEY_COMPARE_PARAMS_T
    alias.rkey_compare       = rkey_compare;
#endif
    alias.md_config.name     = "";
    alias.md_config.prefix   = "";
    alias.md_config.table    = no_settings;
    alias.md_config.size     = sizeof(uct_md_config_t);
    alias.cm_config.name     = "";
    alias.cm_config.prefix   = "";
    alias.md_vfs_init        = [](uct_md_h) {};
    ucs_list_head_init(&alias.tl_list);
    uct_component_register(&alias);

    describe_transport(alias.transport, AliasMd::query_devices,
                       AliasIface::open);
    /* Not uct_tl_register(): the settings are in UCX's list already. */
    ucs_list_add_tail(&alias.tl_list, &alias.transport.list);
}

} // namespace

uct_component_h AliasComponent::real() const
{
    return find_component(real_name);
}

void register_aliases()
{
    for (auto &alias : aliases) {
        register_alias(alias);
    }
}

} // namespace fuselink
