/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "iface.h"

#include "local_iface.h"
#include "md.h"
#include "rails_iface.h"
#include "refusal.h"

#include <climits>
#include <cstring>

namespace fuselink {

uct_iface_ops_t unsupported_ops()
{
    uct_iface_ops_t ops;
    memset(&ops, 0, sizeof(ops));
    ops.ep_put_short             = kRefuse;
    ops.ep_put_bcopy             = kRefuse;
    ops.ep_put_zcopy             = kRefuse;
    ops.ep_get_short             = kRefuse;
    ops.ep_get_bcopy             = kRefuse;
    ops.ep_get_zcopy             = kRefuse;
    ops.ep_am_short              = kRefuse;
    ops.ep_am_short_iov          = kRefuse;
    ops.ep_am_bcopy              = kRefuse;
    ops.ep_am_zcopy              = kRefuse;
    ops.ep_atomic_cswap64        = kRefuse;
    ops.ep_atomic_cswap32        = kRefuse;
    ops.ep_atomic32_post         = kRefuse;
    ops.ep_atomic64_post         = kRefuse;
    ops.ep_atomic32_fetch        = kRefuse;
    ops.ep_atomic64_fetch        = kRefuse;
    ops.ep_tag_eager_short       = kRefuse;
    ops.ep_tag_eager_bcopy       = kRefuse;
    ops.ep_tag_eager_zcopy       = kRefuse;
    ops.ep_tag_rndv_zcopy        = kRefuse;
    ops.ep_tag_rndv_cancel       = kRefuse;
    ops.ep_tag_rndv_request      = kRefuse;
    ops.iface_tag_recv_zcopy     = kRefuse;
    ops.iface_tag_recv_cancel    = kRefuse;
    ops.ep_pending_add           = kRefuse;
    ops.ep_pending_purge         = kRefuse;
    ops.ep_flush                 = kRefuse;
    ops.ep_fence                 = kRefuse;
    ops.ep_check                 = kRefuse;
    ops.ep_create                = kRefuse;
    ops.ep_connect               = kRefuse;
    ops.ep_disconnect            = kRefuse;
    ops.cm_ep_conn_notify        = kRefuse;
    ops.ep_get_address           = kRefuse;
    ops.ep_connect_to_ep         = kRefuse;
    ops.iface_accept             = kRefuse;
    ops.iface_reject             = kRefuse;
    ops.iface_flush              = kRefuse;
    ops.iface_fence              = kRefuse;
    ops.iface_event_fd_get       = kRefuse;
    ops.iface_event_arm          = kRefuse;
    ops.iface_query              = kRefuse;
    ops.iface_get_device_address = kRefuse;
    ops.iface_get_address        = kRefuse;
    return ops;
}

std::string file_name(const char *setting)
{
    char name[PATH_MAX] = {};
    ucs_fill_filename_template(setting, name, sizeof(name));
    return name;
}

ucs_status_t open_iface(uct_md_h md, uct_worker_h worker,
                        const uct_iface_params_t *params,
                        const uct_iface_config_t *config,
                        uct_iface_h *iface)
{
    /* The open mode says that there is a device; UCT does not look at
     * FIELD_DEVICE and ucx_perftest does not set it. */
    if (!(params->field_mask & UCT_IFACE_PARAM_FIELD_OPEN_MODE) ||
        !(params->open_mode & UCT_IFACE_OPEN_MODE_DEVICE)) {
        ucs_error("fuselink: interfaces open by device only");
        return UCS_ERR_UNSUPPORTED;
    }
    const char *device = params->mode.device.dev_name;
    if (strcmp(device, kRailsDevice) == 0) {
        return RailsIface::open(md, worker, params, config, iface);
    }
    if (strcmp(device, kNodeDevice) == 0 || strcmp(device, kSelfDevice) == 0) {
        return LocalIface::open(md, worker, params, config, iface);
    }
    ucs_error("fuselink: no device '%s'; devices: %s, %s, %s", device,
              kRailsDevice, kNodeDevice, kSelfDevice);
    return UCS_ERR_NO_DEVICE;
}

} // namespace fuselink
