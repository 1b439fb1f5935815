/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "cm_ep.h"

#include "../host/native_stream_control.h"
#include "../host/tcp_socket.h"
#include "../wire/cm_data.h"
#include "cm.h"
#include "cm_remote.h"
#include "iface.h"
#include "internal_ops.h"

#include <cstring>
#include <vector>

namespace fuselink {
namespace {

/* Who closes an endpoint waits for the peer's last word, which comes over the NIC of this
 * connection alone; while data go over the others. If that NIC has died meanwhile, kernels try
 * for a quarter of an hour. A peer that is stopped has a kernel that answers. */
constexpr sched::Nanos kLastWord = sched::Nanos::seconds(5);

std::vector<uint8_t> with_trailer(const void *data, size_t length)
{
    return wire::with_cm_trailer({static_cast<const uint8_t *>(data), length});
}

/* UCX's own refuses a callback that is announced and missing. */
template <typename Callback>
void replace(const uct_ep_params_t &params, uint64_t field, Callback &callback, Callback own)
{
    if ((params.field_mask & field) && callback != nullptr) {
        callback = own;
    }
}

} // namespace

ucs_status_t CmEp::create(const uct_ep_params_t *params, uct_ep_h *ep_p)
{
    CmEp        *ep     = new CmEp;
    ucs_status_t status = ep->init(*params);
    if (status != UCS_OK) {
        delete ep;
        return status;
    }
    *ep_p = &ep->super;
    return UCS_OK;
}

ucs_status_t CmEp::init(const uct_ep_params_t &params)
{
    ucs_status_t status = init_base_ep(this, &params.cm->iface);
    if (status != UCS_OK) {
        return status;
    }
    base_ready_ = true;
    user_       = params;
    if (!(params.field_mask & UCT_EP_PARAM_FIELD_USER_DATA)) {
        user_.user_data = nullptr;
    }

    uct_ep_params_t passed = params;
    passed.field_mask     |= UCT_EP_PARAM_FIELD_USER_DATA;
    passed.cm              = Cm::from(params.cm).real();
    passed.user_data       = this;
    replace(params, UCT_EP_PARAM_FIELD_SOCKADDR_PACK_CB, passed.sockaddr_pack_cb, on_pack);
    replace(params, UCT_EP_PARAM_FIELD_CM_RESOLVE_CB, passed.cm_resolve_cb, on_resolve);
    replace(params, UCT_EP_PARAM_FIELD_SOCKADDR_CONNECT_CB_CLIENT, passed.sockaddr_cb_client,
            on_connect);
    replace(params, UCT_EP_PARAM_FIELD_SOCKADDR_NOTIFY_CB_SERVER, passed.sockaddr_cb_server,
            on_notify);
    replace(params, UCT_EP_PARAM_FIELD_SOCKADDR_DISCONNECT_CB, passed.disconnect_cb,
            on_disconnect);
    std::vector<uint8_t> data;
    if (ucs_test_all_flags(params.field_mask,
                           UCT_EP_PARAM_FIELD_PRIV_DATA |
                               UCT_EP_PARAM_FIELD_PRIV_DATA_LENGTH)) {
        data = with_trailer(params.private_data, params.private_data_length);
        passed.private_data        = data.data();
        passed.private_data_length = data.size();
    }
    /* UCX's own may name an endpoint that it then destroys. */
    uct_ep_h real = nullptr;
    status        = uct_ep_create(&passed, &real);
    if (status == UCS_OK) {
        real_ = real;
    }
    return status;
}

CmEp::~CmEp()
{
    if (real_ != nullptr) {
        uct_ep_destroy(real_);
    }
    if (base_ready_) {
        cleanup_base_ep(this);
    }
}

ucs_status_t CmEp::connect(uct_ep_h ep, const uct_ep_connect_params_t *params)
{
    const void *data   = nullptr;
    size_t      length = 0;
    uct_ep_connect_params_get(params, &data, &length);

    const std::vector<uint8_t> own    = with_trailer(data, length);
    uct_ep_connect_params_t    passed = {};
    passed.field_mask          = UCT_EP_CONNECT_PARAM_FIELD_PRIVATE_DATA |
                        UCT_EP_CONNECT_PARAM_FIELD_PRIVATE_DATA_LENGTH;
    passed.private_data        = own.data();
    passed.private_data_length = own.size();
    return uct_ep_connect(real(ep), &passed);
}

ssize_t CmEp::on_pack(void *arg, const uct_cm_ep_priv_data_pack_args_t *args, void *data)
{
    const CmEp &ep = *static_cast<CmEp *>(arg);

    uct_cm_ep_priv_data_pack_args_t passed = *args;
    name_rails(passed.dev_name);
    const ssize_t length = ep.user_.sockaddr_pack_cb(ep.user_.user_data, &passed, data);
    if (length < 0) {
        return length;
    }
    /* There is room for it, as the user knows Cm::query(). */
    const wire::CmTrailer trailer = wire::cm_trailer();
    memcpy(static_cast<uint8_t *>(data) + length, &trailer, sizeof(trailer));
    return length + static_cast<ssize_t>(sizeof(trailer));
}

ucs_status_t CmEp::on_resolve(void *arg, const uct_cm_ep_resolve_args_t *args)
{
    const CmEp &ep = *static_cast<CmEp *>(arg);

    uct_cm_ep_resolve_args_t passed = *args;
    name_rails(passed.dev_name);
    return ep.user_.cm_resolve_cb(ep.user_.user_data, &passed);
}

void CmEp::on_connect(uct_ep_h, void *arg, const uct_cm_ep_client_connect_args_t *args)
{
    CmEp &ep = *static_cast<CmEp *>(arg);

    const CmRemote                  remote(*args->remote_data);
    uct_cm_ep_client_connect_args_t passed = *args;
    passed.remote_data                     = remote.get();
    if (remote.other_version() != 0) {
        ucs_warn("fuselink: a server speaks protocol version %d, this process %d: not "
                 "connected; use one fuselink everywhere",
                 remote.other_version(), wire::kProtocolVersion);
        passed.status = UCS_ERR_UNREACHABLE;
    }
    ep.user_.sockaddr_cb_client(&ep.super, ep.user_.user_data, &passed);
}

void CmEp::on_notify(uct_ep_h, void *arg, const uct_cm_ep_server_conn_notify_args_t *args)
{
    CmEp &ep = *static_cast<CmEp *>(arg);
    ep.user_.sockaddr_cb_server(&ep.super, ep.user_.user_data, args);
}

void CmEp::on_disconnect(uct_ep_h, void *arg)
{
    CmEp &ep = *static_cast<CmEp *>(arg);
    ep.user_.disconnect_cb(&ep.super, ep.user_.user_data);
}

uct_iface_ops_t CmEp::ops_table()
{
    uct_iface_ops_t ops   = unsupported_ops();
    ops.ep_connect        = connect;
    ops.ep_disconnect     = [](uct_ep_h ep, unsigned flags) {
        ucs_status_t status = uct_ep_disconnect(real(ep), flags);
        if (status == UCS_OK) {
            tcp_socket::limit_silence(socket_of_cm(real(ep)), kLastWord);
        }
        return status;
    };
    ops.cm_ep_conn_notify = [](uct_ep_h ep) {
        return uct_cm_client_ep_conn_notify(real(ep));
    };
    ops.ep_flush          = [](uct_ep_h ep, unsigned flags, uct_completion_t *comp) {
        return uct_ep_flush(real(ep), flags, comp);
    };
    ops.ep_pending_purge  = [](uct_ep_h ep, uct_pending_purge_callback_t cb, void *arg) {
        uct_ep_pending_purge(real(ep), cb, arg);
    };
    ops.ep_destroy             = [](uct_ep_h ep) { delete &from(ep); };
    ops.iface_progress_enable  = [](uct_iface_h, unsigned) {};
    ops.iface_progress_disable = [](uct_iface_h, unsigned) {};
    ops.iface_progress         = [](uct_iface_h) { return 0u; };
    ops.iface_close            = [](uct_iface_h) {};
    ops.iface_is_reachable     = [](const uct_iface_h, const uct_device_addr_t *,
                                const uct_iface_addr_t *) { return 0; };
    return ops;
}

uct_iface_internal_ops_t CmEp::internal_ops_table()
{
    uct_iface_internal_ops_t ops = fuselink::internal_ops_table();
    ops.ep_query = [](uct_ep_h ep, uct_ep_attr_t *attr) { return uct_ep_query(real(ep), attr); };
#ifdef FUSELINK_HAS_UCT_IFACE_INTERNAL_OPS_T_EP_IS_CONNECTED
    /* As UCX's own: it has no addresses of UCT to compare. */
    ops.ep_is_connected = [](uct_ep_h, const uct_ep_is_connected_params_t *) { return 0; };
#endif
    return ops;
}

} // namespace fuselink
