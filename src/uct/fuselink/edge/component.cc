/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* The component `fuselink` and its one transport of the same name: what UCT
 * sees first. Loading the library registers them, nothing else. */

#include "component.h"

#include "../config/config.h"
#include "alias_component.h"
#include "cm.h"
#include "iface.h"
#include "md.h"
#include "version.h"

#include <compare>
#include <cstring>
#include <dlfcn.h>
#include <tuple>

namespace fuselink {
namespace {

#ifdef FUSELINK_HAS_UCT_RKEY_UNPACK_PARAMS_T /* 1.19 */

ucs_status_t component_rkey_unpack(uct_component_t *, const void *buffer,
                                   const uct_rkey_unpack_params_t *,
                                   uct_rkey_t *rkey, void **handle)
{
    return rkey_unpack(buffer, rkey, handle);
}

#else

ucs_status_t component_rkey_unpack(uct_component_t *, const void *buffer,
                                   uct_rkey_t *rkey, void **handle)
{
    return rkey_unpack(buffer, rkey, handle);
}

#endif

#ifdef FUSELINK_HAS_UCT_RKEY_COMPARE_PARAMS_T /* 1.16 */

/* Any order will do that is the same each time: UCP sorts keys by it. */
ucs_status_t component_rkey_compare(uct_component_t *, uct_rkey_t rkey1,
                                    uct_rkey_t rkey2,
                                    const uct_rkey_compare_params_t *,
                                    int *result)
{
    const RegionKey &one = remote_key(rkey1).region;
    const RegionKey &two = remote_key(rkey2).region;
    auto order = std::tie(one.id, one.key) <=> std::tie(two.id, two.key);
    *result    = order < 0 ? -1 : order > 0 ? 1 : 0;
    return UCS_OK;
}

#endif

ucs_status_t component_rkey_release(uct_component_t *, uct_rkey_t,
                                    void *handle)
{
    return rkey_release(handle);
}

ucs_status_t component_rkey_ptr(uct_component_t *, uct_rkey_t, void *,
                                uint64_t, void **)
{
    return UCS_ERR_UNSUPPORTED;
}

ucs_status_t no_cm(uct_component_t *, uct_worker_h, const uct_cm_config_t *, uct_cm_h *)
{
    return UCS_ERR_UNSUPPORTED;
}

/* With the settings of the one that does the work. */
void add_cm(uct_component_t &component)
{
    const uct_component_t *real = Cm::real_component();
    if (real != nullptr) {
        component.flags    |= UCT_COMPONENT_FLAG_CM;
        component.cm_open   = Cm::open;
        component.cm_config = real->cm_config;
    } else {
        component.cm_open          = no_cm;
        component.cm_config.name   = "";
        component.cm_config.prefix = "";
    }
}

void component_vfs_init(uct_md_h)
{
}

/* uct_component_t has a const name, so it is built field by field. */
template <typename T, size_t N> void set_name(const T (&field)[N])
{
    strncpy(const_cast<char *>(field), "fuselink", N - 1);
}

uct_component_t component = {};
uct_tl_t        transport = {};
bool            is_registered = false;

/* UCX would take the transports of two copies of the library, one preloaded and
 * one in its own folder, say, for two sets of NICs. */
bool registered_before()
{
    if (find_component("fuselink") == nullptr) {
        return false;
    }
    Dl_info self = {};
    dladdr(&component, &self);
    ucs_warn("fuselink is loaded already; the second copy of the "
             "library, %s, stays out", self.dli_fname);
    return true;
}

/* In the data segment, never torn down: UCT keeps a pointer for good. */
[[gnu::constructor]] void register_component()
{
    if (!version_matches() || registered_before()) {
        return;
    }
    set_name(component.name);
    component.query_md_resources = query_md_resources;
    component.md_open            = Md::open;
    component.rkey_unpack        = component_rkey_unpack;
    component.rkey_ptr           = component_rkey_ptr;
    component.rkey_release       = component_rkey_release;
#ifdef FUSELINK_HAS_UCT_RKEY_COMPARE_PARAMS_T
    component.rkey_compare       = component_rkey_compare;
#endif
    component.md_config.name     = "fuselink memory domain";
    component.md_config.prefix   = kConfigPrefix;
    component.md_config.table    = md_config_table;
    component.md_config.size     = sizeof(MdConfig);
    component.md_vfs_init        = component_vfs_init;
    ucs_list_head_init(&component.tl_list);
    add_cm(component);

    describe_transport(transport, query_devices, open_iface);
    uct_component_register(&component);
    uct_tl_register(&component, &transport);
    register_aliases();
    is_registered = true;
}

} // namespace

uct_component_t *find_component(const char *name)
{
    uct_component_t *one;
    ucs_list_for_each(one, &uct_components_list, list) {
        if (strcmp(one->name, name) == 0) {
            return one;
        }
    }
    return nullptr;
}

void describe_transport(uct_tl_t &transport,
                        decltype(uct_tl_t::query_devices) query_devices,
                        decltype(uct_tl_t::iface_open) iface_open)
{
    set_name(transport.name);
    transport.query_devices = query_devices;
    transport.iface_open    = iface_open;
    transport.config.name   = "fuselink transport";
    transport.config.prefix = kConfigPrefix;
    transport.config.table  = iface_config_table;
    transport.config.size   = sizeof(IfaceConfig);
}

uct_component_t *registered_component()
{
    return is_registered ? &component : nullptr;
}

} // namespace fuselink
