/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "iface.h"

#include "local_iface.h"
#include "md.h"
#include "rails_iface.h"

#include <cstring>

namespace fuselink {
namespace {

/* One stub for any signature: the arguments are ignored. */
template <typename R, typename... Args> R refuse(Args...)
{
    return static_cast<R>(UCS_ERR_UNSUPPORTED);
}

template <typename R, typename... Args>
void set_refusal(R (*&slot)(Args...))
{
    slot = refuse<R, Args...>;
}

} // namespace

uct_iface_ops_t unsupported_ops()
{
    uct_iface_ops_t ops;
    memset(&ops, 0, sizeof(ops));
    set_refusal(ops.ep_put_short);
    set_refusal(ops.ep_put_bcopy);
    set_refusal(ops.ep_put_zcopy);
    set_refusal(ops.ep_get_short);
    set_refusal(ops.ep_get_bcopy);
    set_refusal(ops.ep_get_zcopy);
    set_refusal(ops.ep_am_short);
    set_refusal(ops.ep_am_short_iov);
    set_refusal(ops.ep_am_bcopy);
    set_refusal(ops.ep_am_zcopy);
    set_refusal(ops.ep_atomic_cswap64);
    set_refusal(ops.ep_atomic_cswap32);
    set_refusal(ops.ep_atomic32_post);
    set_refusal(ops.ep_atomic64_post);
    set_refusal(ops.ep_atomic32_fetch);
    set_refusal(ops.ep_atomic64_fetch);
    set_refusal(ops.ep_tag_eager_short);
    set_refusal(ops.ep_tag_eager_bcopy);
    set_refusal(ops.ep_tag_eager_zcopy);
    ops.ep_tag_rndv_zcopy = [](uct_ep_h, uct_tag_t, const void *, unsigned,
                               const uct_iov_t *, size_t, unsigned,
                               uct_completion_t *) -> ucs_status_ptr_t {
        return UCS_STATUS_PTR(UCS_ERR_UNSUPPORTED);
    };
    set_refusal(ops.ep_tag_rndv_cancel);
    set_refusal(ops.ep_tag_rndv_request);
    set_refusal(ops.iface_tag_recv_zcopy);
    set_refusal(ops.iface_tag_recv_cancel);
    set_refusal(ops.ep_pending_add);
    ops.ep_pending_purge = [](uct_ep_h, uct_pending_purge_callback_t,
                              void *) {};
    set_refusal(ops.ep_flush);
    set_refusal(ops.ep_fence);
    set_refusal(ops.ep_check);
    set_refusal(ops.ep_create);
    set_refusal(ops.ep_connect);
    set_refusal(ops.ep_disconnect);
    set_refusal(ops.cm_ep_conn_notify);
    set_refusal(ops.ep_get_address);
    set_refusal(ops.ep_connect_to_ep);
    set_refusal(ops.iface_accept);
    set_refusal(ops.iface_reject);
    set_refusal(ops.iface_flush);
    set_refusal(ops.iface_fence);
    set_refusal(ops.iface_event_fd_get);
    set_refusal(ops.iface_event_arm);
    set_refusal(ops.iface_query);
    set_refusal(ops.iface_get_device_address);
    set_refusal(ops.iface_get_address);
    return ops;
}

ucs_status_t open_iface(uct_md_h md, uct_worker_h worker,
                        const uct_iface_params_t *params,
                        const uct_iface_config_t *config,
                        uct_iface_h *iface)
{
    constexpr uint64_t needed = UCT_IFACE_PARAM_FIELD_OPEN_MODE |
                                UCT_IFACE_PARAM_FIELD_DEVICE;
    if ((params->field_mask & needed) != needed ||
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
