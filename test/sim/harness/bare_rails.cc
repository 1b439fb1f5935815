/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "bare_rails.h"

#include "edge/component.h"

namespace fuselink::sim {

BareRails::BareRails(Process &process, NodeMemory &node)
    : process_(process), host_(process, node)
{
}

void BareRails::run() const
{
    process_.world().running = process_.index();
}

bool BareRails::open(const Settings &settings, uct_error_handler_t on_failure, void *arg)
{
    run();
    uct_component_h component  = registered_component();
    process_.world().opening   = &process_;
    opening_host               = &host_;
    uct_md_config_t    *md_config    = nullptr;
    uct_iface_config_t *iface_config = nullptr;
    if (!worker_.open() ||
        uct_md_config_read(component, nullptr, nullptr, &md_config) !=
            UCS_OK) {
        return false;
    }
    uct_config_modify(md_config, "NODE_LANES", "none");
    for (const auto &[name, value] : settings.md) {
        uct_config_modify(md_config, name, value);
    }
    ucs_status_t status = uct_md_open(component, "fuselink", md_config, &md_);
    uct_config_release(md_config);
    process_.world().opening = nullptr;
    if (status != UCS_OK ||
        uct_md_iface_config_read(md_, "fuselink", nullptr, nullptr,
                                 &iface_config) != UCS_OK) {
        return false;
    }
    for (const auto &[name, value] : settings.iface) {
        uct_config_modify(iface_config, name, value);
    }
    uct_iface_params_t params{};
    params.field_mask = UCT_IFACE_PARAM_FIELD_OPEN_MODE |
                        UCT_IFACE_PARAM_FIELD_DEVICE |
                        UCT_IFACE_PARAM_FIELD_RX_HEADROOM;
    if (on_failure != nullptr) {
        params.field_mask |= UCT_IFACE_PARAM_FIELD_ERR_HANDLER |
                             UCT_IFACE_PARAM_FIELD_ERR_HANDLER_ARG;
        params.err_handler     = on_failure;
        params.err_handler_arg = arg;
    }
    params.open_mode            = UCT_IFACE_OPEN_MODE_DEVICE;
    params.mode.device.tl_name  = "fuselink";
    params.mode.device.dev_name = "rails";
    status = uct_iface_open(md_, worker_.handle(), &params, iface_config, &iface_);
    uct_config_release(iface_config);
    if (status != UCS_OK || uct_iface_query(iface_, &attr_) != UCS_OK) {
        return false;
    }
    uct_iface_progress_enable(iface_, UCT_PROGRESS_SEND | UCT_PROGRESS_RECV);
    return true;
}

void BareRails::close_iface()
{
    run();
    if (iface_ != nullptr) {
        uct_iface_close(iface_);
        iface_ = nullptr;
    }
}

void BareRails::close()
{
    close_iface();
    if (md_ != nullptr) {
        uct_md_close(md_);
        md_ = nullptr;
    }
    worker_.close();
}

std::vector<uint8_t> BareRails::device_address() const
{
    std::vector<uint8_t> bytes(attr_.device_addr_len);
    uct_iface_get_device_address(
        iface_, reinterpret_cast<uct_device_addr_t *>(bytes.data()));
    return bytes;
}

std::vector<uint8_t> BareRails::iface_address() const
{
    std::vector<uint8_t> bytes(attr_.iface_addr_len);
    uct_iface_get_address(iface_,
                          reinterpret_cast<uct_iface_addr_t *>(bytes.data()));
    return bytes;
}

uct_ep_h BareRails::connect(const std::vector<uint8_t> &device,
                            const std::vector<uint8_t> &iface) const
{
    run();
    uct_ep_params_t params{};
    params.field_mask = UCT_EP_PARAM_FIELD_IFACE |
                        UCT_EP_PARAM_FIELD_DEV_ADDR |
                        UCT_EP_PARAM_FIELD_IFACE_ADDR;
    params.iface      = iface_;
    params.dev_addr   = reinterpret_cast<const uct_device_addr_t *>(device.data());
    params.iface_addr = reinterpret_cast<const uct_iface_addr_t *>(iface.data());
    uct_ep_h ep = nullptr;
    return uct_ep_create(&params, &ep) == UCS_OK ? ep : nullptr;
}

bool BareRails::progress(unsigned times)
{
    run();
    unsigned found = 0;
    while (times-- != 0) {
        found += worker_.progress();
    }
    return found != 0;
}

} // namespace fuselink::sim
