/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "alias_md.h"

#include "unsupported_op.h"

namespace fuselink {
namespace {

/* The operation of uct_md_ops_t that `Op` names, on the real domain. What
 * differs between UCX releases are the arguments behind the first, which nobody
 * looks at here. */
template <auto Op> struct PassOn;

template <typename R, typename... Args,
          R (*uct_md_ops_t::*Op)(uct_md_h, Args...)>
struct PassOn<Op> {
    static R call(uct_md_h md, Args... args)
    {
        uct_md_h real = AliasMd::from(md).real().handle();
        auto     op   = real->ops->*Op;
        return op != nullptr ? op(real, args...) :
                               static_cast<R>(UCS_ERR_UNSUPPORTED);
    }
};

template <auto Op> constexpr auto kPassOn = PassOn<Op>::call;

} // namespace

ucs_status_t AliasMd::open(uct_component_t *component, const char *name,
                           const uct_md_config_t *, uct_md_h *md_p)
{
    const AliasComponent &alias = AliasComponent::from(component);
    uct_component_h       real  = alias.real();
    if (real == nullptr) {
        return UCS_ERR_NO_DEVICE;
    }
    static uct_md_ops_t md_ops = ops_table();
    auto md       = std::make_unique<AliasMd>();
    md->ops       = &md_ops;
    md->component = component;
    ucs_status_t status = UctMd::open(real, alias.real_name, name,
                                      md->real_);
    if (status == UCS_OK) {
        *md_p = md.release();
    }
    return status;
}

void AliasMd::close(uct_md_h md)
{
    delete &from(md);
}

uct_md_ops_t AliasMd::ops_table()
{
    using Ops = uct_md_ops_t;
    return {
        .close                  = close,
        .query                  = kPassOn<&Ops::query>,
        .mem_alloc              = kPassOn<&Ops::mem_alloc>,
        .mem_free               = kPassOn<&Ops::mem_free>,
        .mem_advise             = kPassOn<&Ops::mem_advise>,
        .mem_reg                = kPassOn<&Ops::mem_reg>,
        .mem_dereg              = kPassOn<&Ops::mem_dereg>,
        .mem_query              = kPassOn<&Ops::mem_query>,
        .mkey_pack              = kPassOn<&Ops::mkey_pack>,
#ifdef FUSELINK_HAS_UCT_MD_OPS_T_MEM_ATTACH
        .mem_attach             = kPassOn<&Ops::mem_attach>,
#endif
#ifdef FUSELINK_HAS_UCT_MD_OPS_T_IS_SOCKADDR_ACCESSIBLE
        .is_sockaddr_accessible = kPassOn<&Ops::is_sockaddr_accessible>,
#endif
        .detect_memory_type     = kPassOn<&Ops::detect_memory_type>,
#ifdef FUSELINK_HAS_UCT_MD_OPS_T_MEM_ELEM_PACK
        .mem_elem_pack          = kPassOn<&Ops::mem_elem_pack>,
#endif
#ifdef FUSELINK_HAS_UCT_MD_OPS_T_MEM_ELEM_RELEASE
        .mem_elem_release       = kPassOn<&Ops::mem_elem_release>,
#endif
    };
}

ucs_status_t AliasMd::query_devices(uct_md_h tl_md,
                                    uct_tl_device_resource_t **devices,
                                    unsigned *count)
{
    const AliasMd           &md       = from(tl_md);
    const UctMd::Resource *resource = md.real().find(md.alias().real_tl);
    *devices = nullptr;
    *count   = 0;
    if (resource == nullptr) {
        return UCS_OK;
    }
    auto *device = static_cast<uct_tl_device_resource_t *>(
        ucs_calloc(1, sizeof(**devices), "fuselink devices"));
    if (device == nullptr) {
        return UCS_ERR_NO_MEMORY;
    }
    ucs_snprintf_zero(device->name, sizeof(device->name), "%s",
                      md.alias().device);
    device->type       = resource->type;
    device->sys_device = resource->sys_device;
    *devices           = device;
    *count             = 1;
    return UCS_OK;
}

/* cuda_ipc of UCX 1.13 unpacks keys with what belongs to the domain that was
 * opened last, and UCP opens all of them and closes those that it does not use:
 * the real one's own, by then. So there has to be a later one that stays. */
void AliasMd::in_use()
{
    std::call_once(used_, [this] {
        if (UctMd::open(real_->component(), real_->component_name().c_str(),
                        real_->md_name().c_str(), latest_) != UCS_OK) {
            ucs_debug("fuselink: %s does not open again",
                      real_->md_name().c_str());
        }
    });
}

} // namespace fuselink
