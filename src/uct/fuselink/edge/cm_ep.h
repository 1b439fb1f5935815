/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_EDGE_CM_EP_H
#define FUSELINK_EDGE_CM_EP_H

#include "../ucx.h"

namespace fuselink {

/** One end of a connection by socket address (see Cm): an endpoint of UCX's own, whose user
 *  hears of device `rails`. */
class CmEp : public uct_base_ep_t {
public:
    static ucs_status_t             create(const uct_ep_params_t *params, uct_ep_h *ep);
    static uct_iface_ops_t          ops_table();
    static uct_iface_internal_ops_t internal_ops_table();

    CmEp(const CmEp &)            = delete;
    CmEp &operator=(const CmEp &) = delete;

private:
    CmEp() = default;
    ~CmEp();

    ucs_status_t init(const uct_ep_params_t &params);

    static CmEp &from(uct_ep_h ep)
    {
        return *static_cast<CmEp *>(reinterpret_cast<uct_base_ep_t *>(ep));
    }
    static uct_ep_h real(uct_ep_h ep) { return from(ep).real_; }

    static ucs_status_t connect(uct_ep_h ep, const uct_ep_connect_params_t *params);

    /* What UCX's own calls; `arg` is this endpoint. Its user may destroy it meanwhile. */
    static ssize_t on_pack(void *arg, const uct_cm_ep_priv_data_pack_args_t *args,
                           void *data);
    static ucs_status_t on_resolve(void *arg, const uct_cm_ep_resolve_args_t *args);
    static void on_connect(uct_ep_h real, void *arg,
                           const uct_cm_ep_client_connect_args_t *args);
    static void on_notify(uct_ep_h real, void *arg,
                          const uct_cm_ep_server_conn_notify_args_t *args);
    static void on_disconnect(uct_ep_h real, void *arg);

    uct_ep_params_t user_       = {}; /* what its user gave: callbacks and their data */
    uct_ep_h        real_       = nullptr;
    bool            base_ready_ = false;
};

} // namespace fuselink

#endif
