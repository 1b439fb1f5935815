/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "cm_listener.h"

#include "../host/tcp_socket.h"
#include "cm.h"
#include "cm_remote.h"

#include <mutex>
#include <netinet/in.h>
#include <set>

namespace fuselink {
namespace {

uint16_t port_of(const sockaddr *address)
{
    uint16_t port = 0;
    return ucs_sockaddr_get_port(address, &port) == UCS_OK ? port : 0;
}

/* Where listeners of ours are, in this process. */
class Ports {
public:
    void add(uint16_t port)
    {
        std::lock_guard lock(mutex_);
        ports_.insert(port);
    }
    void remove(uint16_t port)
    {
        std::lock_guard lock(mutex_);
        const auto at = ports_.find(port);
        if (at != ports_.end()) {
            ports_.erase(at);
        }
    }
    bool has(uint16_t port)
    {
        std::lock_guard lock(mutex_);
        return ports_.contains(port);
    }

private:
    std::mutex              mutex_;
    std::multiset<uint16_t> ports_;
};

Ports ports;

/* UCX_SOCKADDR_TLS_PRIORITY may name UCX's own as well. UCP listens with each at one address,
 * tries others for ever if one is busy, and goes on without one that has no device. */
bool is_real_one_there(uint16_t port)
{
    return port != 0 && !ports.has(port) && tcp_socket::listens_here(port);
}

} // namespace

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
    if (is_real_one_there(port_of(address))) {
        ucs_debug("fuselink: this process listens at port %d already", port_of(address));
        return UCS_ERR_NO_DEVICE;
    }
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
    uct_listener_attr_t attr;
    attr.field_mask = UCT_LISTENER_ATTR_FIELD_SOCKADDR;
    if (uct_listener_query(listener->real_, &attr) == UCS_OK) {
        listener->port_ = port_of(reinterpret_cast<sockaddr *>(&attr.sockaddr));
    }
    ports.add(listener->port_);
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
    ports.remove(from(listener).port_);
    delete &from(listener);
}

void CmListener::on_request(uct_listener_h real, void *arg,
                            const uct_cm_listener_conn_request_args_t *args)
{
    CmListener &listener = *static_cast<CmListener *>(arg);
    /* One may come before uct_listener_create() has returned. */
    listener.real_ = real;

    const CmRemote                      remote(*args->remote_data);
    uct_cm_listener_conn_request_args_t passed = *args;
    name_rails(passed.dev_name);
    passed.remote_data = remote.get();
    if (remote.other_version() == 0) {
        listener.user_(&listener, listener.user_arg_, &passed);
        return;
    }
    if (!listener.said_version_) {
        listener.said_version_ = true;
        ucs_warn("fuselink: a client speaks protocol version %d, this process %d: rejected, "
                 "as others will be; use one fuselink everywhere",
                 remote.other_version(), wire::kProtocolVersion);
    }
    uct_listener_reject(real, args->conn_request);
}

} // namespace fuselink
