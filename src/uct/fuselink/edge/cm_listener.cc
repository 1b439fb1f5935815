/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "cm_listener.h"

#include "cm.h"

namespace fuselink {

/* UCT has looked whether there is a callback. */
CmListener::CmListener(uct_cm_h owner, const uct_listener_params_t &params)
    : uct_listener_t{owner}, user_(params.conn_request_cb),
      user_arg_((params.field_mask & UCT_LISTENER_PARAM_FIELD_USER_DATA) ? params.user_data :
                                                                           nullptr)
{
}

ucs_status_t CmListener::create(uct_cm_h cm, const struct sockaddr *address,
                                socklen_t length, const uct_listener_params_t *params,
                                uct_listener_h *listener_p)
{
    auto *listener = new CmListener(cm, *params);

    uct_listener_params_t passed = *params;
    passed.field_mask           |= UCT_LISTENER_PARAM_FIELD_USER_DATA;
    passed.conn_request_cb       = on_request;
    passed.user_data             = listener;
    ucs_status_t status = uct_listener_create(Cm::from(cm).real(), address, length, &passed,
                                              &listener->real_);
    if (status != UCS_OK) {
        delete listener;
        return status;
    }
    *listener_p = listener;
    return UCS_OK;
}

ucs_status_t CmListener::reject(uct_listener_h listener, uct_conn_request_h request)
{
    return uct_listener_reject(from(listener).real_, request);
}

ucs_status_t CmListener::query(uct_listener_h listener, uct_listener_attr_t *attr)
{
    return uct_listener_query(from(listener).real_, attr);
}

void CmListener::destroy(uct_listener_h listener)
{
    uct_listener_destroy(from(listener).real_);
    delete &from(listener);
}

void CmListener::on_request(uct_listener_h real, void *arg,
                            const uct_cm_listener_conn_request_args_t *args)
{
    CmListener &listener = *static_cast<CmListener *>(arg);
    /* One may come before uct_listener_create() has returned. */
    listener.real_ = real;

    uct_cm_listener_conn_request_args_t passed = *args;
    uct_cm_remote_data_t                data   = {};
    name_rails(passed.dev_name);
    if (args->field_mask & UCT_CM_LISTENER_CONN_REQUEST_ARGS_FIELD_REMOTE_DATA) {
        data               = with_rails(*args->remote_data);
        passed.remote_data = &data;
    }
    listener.user_(&listener, listener.user_arg_, &passed);
}

} // namespace fuselink
