/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_EDGE_CM_LISTENER_H
#define FUSELINK_EDGE_CM_LISTENER_H

#include "../ucx.h"

namespace fuselink {

/** A listener of ours (see Cm): one of UCX's own, whose requests come by device `rails`. */
class CmListener : public uct_listener_t {
public:
    static ucs_status_t create(uct_cm_h cm, const struct sockaddr *address,
                               socklen_t length, const uct_listener_params_t *params,
                               uct_listener_h *listener);
    static ucs_status_t reject(uct_listener_h listener, uct_conn_request_h request);
    static ucs_status_t query(uct_listener_h listener, uct_listener_attr_t *attr);
    static void         destroy(uct_listener_h listener);

private:
    CmListener(uct_cm_h cm, const uct_listener_params_t &params);

    static CmListener &from(uct_listener_h listener)
    {
        return *static_cast<CmListener *>(listener);
    }
    static void on_request(uct_listener_h real, void *arg,
                           const uct_cm_listener_conn_request_args_t *args);

    const uct_cm_listener_conn_request_callback_t user_;
    void *const                                   user_arg_;
    uct_listener_h                                real_ = nullptr;
    uint16_t                                      port_ = 0;
    bool                                          said_version_ = false;
};

} // namespace fuselink

#endif
