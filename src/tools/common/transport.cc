/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "transport.h"

#include "uct/fuselink/edge/component.h"

#include <algorithm>

namespace fuselink {

std::vector<std::string> Transport::messages_;

/* UCX prints to the standard output, in the middle of what others read. */
ucs_log_func_rc_t
Transport::on_message(const char *, unsigned, const char *,
                      ucs_log_level_t level,
                      const ucs_log_component_config_t *config,
                      const char *message, va_list arguments)
{
    if (level > UCS_LOG_LEVEL_WARN) {
        return level <= config->log_level ? UCS_LOG_FUNC_RC_CONTINUE :
                                            UCS_LOG_FUNC_RC_STOP;
    }
    char text[1024];
    vsnprintf(text, sizeof(text), message, arguments);
    messages_.emplace_back(text);
    return UCS_LOG_FUNC_RC_STOP;
}

Transport::Transport()
{
    ucs_log_push_handler(on_message);
}

Transport::~Transport()
{
    if (iface_ != nullptr) {
        uct_iface_close(iface_);
    }
    if (md_ != nullptr) {
        uct_md_close(md_);
    }
    if (worker_ != nullptr) {
        uct_worker_destroy(worker_);
    }
    if (async_ != nullptr) {
        ucs_async_context_destroy(async_);
    }
    if (iface_config_ != nullptr) {
        uct_config_release(iface_config_);
    }
    if (md_config_ != nullptr) {
        uct_config_release(md_config_);
    }
    ucs_log_pop_handler();
}

/* What the transport has said last, which is more than a status. */
std::string Transport::reason(ucs_status_t status) const
{
    return !messages_.empty() ? messages_.back() : ucs_status_string(status);
}

bool Transport::open_md(std::string &error)
{
    uct_component_t *component = registered_component();
    if (component == nullptr) {
        error = "the transport is not available: this program has it built in, "
                "and it runs with UCX " FUSELINK_UCX_VERSION " and without "
                "another copy of libuct_fuselink.so.0 in LD_PRELOAD only";
        return false;
    }
    /* UCX looks for its modules, which are the rails, when it is asked. */
    uct_component_h *all;
    unsigned         count;
    ucs_status_t     status = uct_query_components(&all, &count);
    if (status == UCS_OK) {
        uct_release_component_list(all);
        status = uct_md_config_read(component, nullptr, nullptr, &md_config_);
    }
    if (status == UCS_OK) {
        status = uct_md_open(component, "fuselink", md_config_, &md_);
    }
    if (status == UCS_OK) {
        status = uct_md_iface_config_read(md_, "fuselink", nullptr, nullptr,
                                          &iface_config_);
    }
    if (status != UCS_OK) {
        error = reason(status);
    }
    return status == UCS_OK;
}

bool Transport::open_rails(std::string &error)
{
    /* To look is not to take part. */
    ucs_status_t status = uct_config_modify(iface_config_, "BOARD", "n");
    if (status == UCS_OK) {
        status = ucs_async_context_create(UCS_ASYNC_THREAD_LOCK_TYPE, &async_);
    }
    if (status == UCS_OK) {
        status = uct_worker_create(async_, UCS_THREAD_MODE_SINGLE, &worker_);
    }
    if (status == UCS_OK) {
        uct_iface_params_t params{};
        params.field_mask           = UCT_IFACE_PARAM_FIELD_OPEN_MODE |
                                      UCT_IFACE_PARAM_FIELD_DEVICE;
        params.open_mode            = UCT_IFACE_OPEN_MODE_DEVICE;
        params.mode.device.tl_name  = "fuselink";
        params.mode.device.dev_name = kRailsDevice;
        status = uct_iface_open(md_, worker_, &params, iface_config_, &iface_);
    }
    if (status != UCS_OK) {
        error = reason(status);
    }
    return status == UCS_OK;
}

bool Transport::settings(EngineSettings &settings, std::string &error) const
{
    const ucs_status_t status = RailsIface::read_settings(
        *reinterpret_cast<const IfaceConfig *>(iface_config_), settings);
    if (status != UCS_OK) {
        error = reason(status);
    }
    return status == UCS_OK;
}

bool Transport::setting(const std::string &name, std::string &value) const
{
    char text[512];
    for (void *config : {static_cast<void *>(md_config_),
                         static_cast<void *>(iface_config_)}) {
        if (config != nullptr &&
            uct_config_get(config, name.c_str(), text, sizeof(text)) ==
                UCS_OK) {
            value = text;
            return true;
        }
    }
    return false;
}

} // namespace fuselink
