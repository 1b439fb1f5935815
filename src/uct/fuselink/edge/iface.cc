/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "iface.h"

#include "local_iface.h"
#include "md.h"
#include "rails_iface.h"
#include "unsupported_op.h"

#include <climits>
#include <cstring>

namespace fuselink {

uct_iface_ops_t unsupported_ops()
{
    uct_iface_ops_t ops;
    memset(&ops, 0, sizeof(ops));
    ops.ep_put_short             = kUnsupportedOp;
    ops.ep_put_bcopy             = kUnsupportedOp;
    ops.ep_put_zcopy             = kUnsupportedOp;
    ops.ep_get_short             = kUnsupportedOp;
    ops.ep_get_bcopy             = kUnsupportedOp;
    ops.ep_get_zcopy             = kUnsupportedOp;
    ops.ep_am_short              = kUnsupportedOp;
    ops.ep_am_short_iov          = kUnsupportedOp;
    ops.ep_am_bcopy              = kUnsupportedOp;
    ops.ep_am_zcopy              = kUnsupportedOp;
    ops.ep_atomic_cswap64        = kUnsupportedOp;
    ops.ep_atomic_cswap32        = kUnsupportedOp;
    ops.ep_atomic32_post         = kUnsupportedOp;
    ops.ep_atomic64_post         = kUnsupportedOp;
    ops.ep_atomic32_fetch        = kUnsupportedOp;
    ops.ep_atomic64_fetch        = kUnsupportedOp;
    ops.ep_tag_eager_short       = kUnsupportedOp;
    ops.ep_tag_eager_bcopy       = kUnsupportedOp;
    ops.ep_tag_eager_zcopy       = kUnsupportedOp;
    ops.ep_tag_rndv_zcopy        = kUnsupportedOp;
    ops.ep_tag_rndv_cancel       = kUnsupportedOp;
    ops.ep_tag_rndv_request      = kUnsupportedOp;
    ops.iface_tag_recv_zcopy     = kUnsupportedOp;
    ops.iface_tag_recv_cancel    = kUnsupportedOp;
    ops.ep_pending_add           = kUnsupportedOp;
    ops.ep_pending_purge         = kUnsupportedOp;
    ops.ep_flush                 = kUnsupportedOp;
    ops.ep_fence                 = kUnsupportedOp;
    ops.ep_check                 = kUnsupportedOp;
    ops.ep_create                = kUnsupportedOp;
    ops.ep_connect               = kUnsupportedOp;
    ops.ep_disconnect            = kUnsupportedOp;
    ops.cm_ep_conn_notify        = kUnsupportedOp;
    ops.ep_get_address           = kUnsupportedOp;
    ops.ep_connect_to_ep         = kUnsupportedOp;
    ops.iface_accept             = kUnsupportedOp;
    ops.iface_reject             = kUnsupportedOp;
    ops.iface_flush              = kUnsupportedOp;
    ops.iface_fence              = kUnsupportedOp;
    ops.iface_event_fd_get       = kUnsupportedOp;
    ops.iface_event_arm          = kUnsupportedOp;
    ops.iface_query              = kUnsupportedOp;
    ops.iface_get_device_address = kUnsupportedOp;
    ops.iface_get_address        = kUnsupportedOp;
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
