/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "endpoint.h"

namespace fltest {

Endpoint::Endpoint(Worker &worker, const Bytes &address, bool watched)
    : worker_(worker)
{
    ucp_ep_params_t params{};
    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
    params.address    = reinterpret_cast<const ucp_address_t *>(address.data());
    create(params, watched);
}

Endpoint::Endpoint(Worker &worker, const sockaddr_in &listener, bool watched)
    : worker_(worker)
{
    ucp_ep_params_t params{};
    params.field_mask = UCP_EP_PARAM_FIELD_FLAGS |
                        UCP_EP_PARAM_FIELD_SOCK_ADDR;
    params.flags            = UCP_EP_PARAMS_FLAGS_CLIENT_SERVER;
    params.sockaddr.addr    = reinterpret_cast<const sockaddr *>(&listener);
    params.sockaddr.addrlen = sizeof(listener);
    create(params, watched);
}

Endpoint::Endpoint(Worker &worker, ucp_conn_request_h client, bool watched)
    : worker_(worker)
{
    ucp_ep_params_t params{};
    params.field_mask   = UCP_EP_PARAM_FIELD_CONN_REQUEST;
    params.conn_request = client;
    create(params, watched);
}

void Endpoint::create(ucp_ep_params_t &params, bool watched)
{
    watched_ = watched;
    if (watched) {
        params.field_mask |= UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                             UCP_EP_PARAM_FIELD_ERR_HANDLER;
        params.err_mode        = UCP_ERR_HANDLING_MODE_PEER;
        params.err_handler.cb  = on_error;
        params.err_handler.arg = this;
    }
    REQUIRE_OK(ucp_ep_create(worker_.handle(), &params, &ep_));
}

Endpoint::~Endpoint()
{
    if (ep_ == nullptr || failing()) {
        return;
    }
    Request request = begin_close(watched_);
    try {
        worker_.until([&] { return request.done(); }, "closing", 10);
    } catch (const Failed &failed) {
        fprintf(stderr, "endpoint: %s\n", failed.reason.c_str());
    }
}

void Endpoint::on_error(void *arg, ucp_ep_h, ucs_status_t status)
{
    auto *self = static_cast<Endpoint *>(arg);
    ++self->errors_;
    self->error_ = status;
}

Request Endpoint::send(const Buffer &buffer, ucp_tag_t tag)
{
    return Request::send(buffer, [&](const ucp_request_param_t &param) {
        return ucp_tag_send_nbx(ep_, buffer.pointer(), buffer.count(), tag,
                                &param);
    });
}

Request Endpoint::send_sync(const Buffer &buffer, ucp_tag_t tag)
{
    return Request::send(buffer, [&](const ucp_request_param_t &param) {
        return ucp_tag_send_sync_nbx(ep_, buffer.pointer(), buffer.count(), tag,
                                     &param);
    });
}

Request Endpoint::send_am(unsigned id, const void *header,
                          size_t header_length, const Buffer &buffer,
                          unsigned flags)
{
    return Request::send(buffer, [&](ucp_request_param_t &param) {
        param.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
        param.flags         = flags;
        return ucp_am_send_nbx(ep_, id, header, header_length,
                               buffer.pointer(), buffer.count(), &param);
    });
}

Request Endpoint::send_stream(const Buffer &buffer)
{
    return Request::send(buffer, [&](const ucp_request_param_t &param) {
        return ucp_stream_send_nbx(ep_, buffer.pointer(), buffer.count(),
                                   &param);
    });
}

Request Endpoint::receive_stream(Buffer &buffer, bool whole)
{
    return Request::stream_receive(buffer, [&](ucp_request_param_t &param) {
        param.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
        param.flags         = whole ? UCP_STREAM_RECV_FLAG_WAITALL : 0;
        return ucp_stream_recv_nbx(ep_, buffer.pointer(), buffer.count(),
                                   param.recv_info.length, &param);
    });
}

Request Endpoint::put(const void *data, size_t length, const Remote &remote,
                      size_t offset)
{
    return Request::plain([&](const ucp_request_param_t &param) {
        return ucp_put_nbx(ep_, data, length, remote.at(offset), remote.key(),
                           &param);
    });
}

Request Endpoint::get(void *data, size_t length, const Remote &remote,
                      size_t offset)
{
    return Request::plain([&](const ucp_request_param_t &param) {
        return ucp_get_nbx(ep_, data, length, remote.at(offset), remote.key(),
                           &param);
    });
}

Request Endpoint::flush()
{
    return Request::plain([&](const ucp_request_param_t &param) {
        return ucp_ep_flush_nbx(ep_, &param);
    });
}

Request Endpoint::begin_close(bool force)
{
    ucp_ep_h ep = std::exchange(ep_, nullptr);
    return Request::plain([&](ucp_request_param_t &param) {
        param.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
        param.flags         = force ? UCP_EP_CLOSE_FLAG_FORCE : 0;
        return ucp_ep_close_nbx(ep, &param);
    });
}

void Endpoint::close(bool force)
{
    Request request = begin_close(force);
    worker_.until([&] { return request.done(); }, "closing an endpoint", 10);
    REQUIRE(force || request.status() == UCS_OK, "closing an endpoint: %s",
            ucs_status_string(request.status()));
}

} // namespace fltest
