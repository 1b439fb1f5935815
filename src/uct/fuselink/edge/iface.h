/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_EDGE_IFACE_H
#define FUSELINK_EDGE_IFACE_H

#include "../ucx.h"

#include <string>

namespace fuselink {

/* UCS's class macros build C objects; these two functions give C++ classes
 * that derive from UCT's base structs the same construction. */

inline ucs_status_t init_base_iface(uct_base_iface_t *iface,
                                    uct_iface_ops_t *ops,
                                    uct_iface_internal_ops_t *internal_ops,
                                    uct_md_h md, uct_worker_h worker,
                                    const uct_iface_params_t *params,
                                    const uct_iface_config_t *config)
{
#ifdef ENABLE_STATS
    auto *stats = (params->field_mask & UCT_IFACE_PARAM_FIELD_STATS_ROOT) ?
                      params->stats_root : nullptr;
    return UCS_CLASS_INIT(uct_base_iface_t, iface, ops, internal_ops, md,
                          worker, params, config, stats,
                          params->mode.device.dev_name);
#else
    return UCS_CLASS_INIT(uct_base_iface_t, iface, ops, internal_ops, md,
                          worker, params, config);
#endif
}

inline void cleanup_base_iface(uct_base_iface_t *iface)
{
    UCS_CLASS_CLEANUP(uct_base_iface_t, iface);
}

inline ucs_status_t init_base_ep(uct_base_ep_t *ep, uct_base_iface_t *iface)
{
    return UCS_CLASS_INIT(uct_base_ep_t, ep, iface);
}

inline void cleanup_base_ep(uct_base_ep_t *ep)
{
    UCS_CLASS_CLEANUP(uct_base_ep_t, ep);
}

/** A table in which every operation exists and says "unsupported": UCP calls
 *  some without looking whether they are there. */
uct_iface_ops_t unsupported_ops();

/** A file name of a setting, with what it stands for: %p, %h and so on, as in
 *  UCX's own settings. Empty stays empty. */
std::string file_name(const char *setting);

/** Opens the device that `params` names: rails, node or self. */
ucs_status_t open_iface(uct_md_h md, uct_worker_h worker,
                        const uct_iface_params_t *params,
                        const uct_iface_config_t *config,
                        uct_iface_h *iface);

} // namespace fuselink

#endif
