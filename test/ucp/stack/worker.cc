/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "worker.h"

namespace fltest {

Context::Context(const Options &options)
{
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES |
                        UCP_PARAM_FIELD_MT_WORKERS_SHARED;
    params.features          = options.features;
    params.mt_workers_shared = options.many_threads;
    ucp_config_t *config;
    REQUIRE_OK(ucp_config_read(nullptr, nullptr, &config));
    ucs_status_t status = ucp_init(&params, config, &context_);
    ucp_config_release(config);
    REQUIRE(status == UCS_OK, "ucp_init: %s", ucs_status_string(status));
}

Context::~Context()
{
    if (!failing()) {
        ucp_cleanup(context_);
    }
}

Worker::Worker(const Context &context, ucs_thread_mode_t mode)
{
    ucp_worker_params_t params{};
    params.field_mask  = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    params.thread_mode = mode;
    REQUIRE_OK(ucp_worker_create(context.handle(), &params, &worker_));
    ucp_worker_attr_t attr{};
    attr.field_mask = UCP_WORKER_ATTR_FIELD_THREAD_MODE;
    REQUIRE_OK(ucp_worker_query(worker_, &attr));
    REQUIRE(attr.thread_mode == mode, "UCX was built without this thread mode");
}

Worker::~Worker()
{
    if (failing()) {
        for (auto &handler : handlers_) {
            handler.second.release();
        }
        return;
    }
    ucp_worker_destroy(worker_);
}

Bytes Worker::address() const
{
    ucp_address_t *address;
    size_t length;
    REQUIRE_OK(ucp_worker_get_address(worker_, &address, &length));
    auto *bytes = reinterpret_cast<const uint8_t *>(address);
    Bytes copy(bytes, bytes + length);
    ucp_worker_release_address(worker_, address);
    return copy;
}

void Worker::on_am(unsigned id, AmHandler handler, unsigned flags)
{
    auto &stored = handlers_.emplace_back(
        id, std::make_unique<AmHandler>(std::move(handler)));
    ucp_am_handler_param_t param{};
    param.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID |
                       UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                       UCP_AM_HANDLER_PARAM_FIELD_CB |
                       UCP_AM_HANDLER_PARAM_FIELD_ARG;
    param.id    = id;
    param.flags = flags;
    param.cb    = on_message;
    param.arg   = stored.second.get();
    REQUIRE_OK(ucp_worker_set_am_recv_handler(worker_, &param));
}

ucs_status_t Worker::on_message(void *arg, const void *header,
                                size_t header_length, void *data,
                                size_t length,
                                const ucp_am_recv_param_t *param)
{
    return (*static_cast<AmHandler *>(arg))(header, header_length, data,
                                            length, *param);
}

Request Worker::receive(Buffer &buffer, ucp_tag_t tag, ucp_tag_t mask)
{
    return Request::tag_receive(buffer, [&](const ucp_request_param_t &param) {
        return ucp_tag_recv_nbx(worker_, buffer.pointer(), buffer.count(), tag,
                                mask, &param);
    });
}

ucp_tag_message_h Worker::probe(ucp_tag_t tag, ucp_tag_t mask,
                                ucp_tag_recv_info_t &info, bool take)
{
    return ucp_tag_probe_nb(worker_, tag, mask, take, &info);
}

Request Worker::receive_probed(Buffer &buffer, ucp_tag_message_h message)
{
    return Request::tag_receive(buffer, [&](const ucp_request_param_t &param) {
        return ucp_tag_msg_recv_nbx(worker_, buffer.pointer(), buffer.count(),
                                    message, &param);
    });
}

Request Worker::receive_am(Buffer &buffer, void *description)
{
    return Request::am_receive(buffer, [&](const ucp_request_param_t &param) {
        return ucp_am_recv_data_nbx(worker_, description, buffer.pointer(),
                                    buffer.count(), &param);
    });
}

Request Worker::flush()
{
    return Request::plain([&](const ucp_request_param_t &param) {
        return ucp_worker_flush_nbx(worker_, &param);
    });
}

void Worker::finish(const Request &request, const char *what, double seconds)
{
    until([&] { return request.done(); }, what, seconds);
    request.require_exact(what);
    REQUIRE(request.status() == UCS_OK, "%s: %s", what,
            ucs_status_string(request.status()));
}

} // namespace fltest
