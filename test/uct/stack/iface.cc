/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "iface.h"

#include <cstring>

namespace fltest {

Bytes Address::pack() const
{
    Bytes bytes{static_cast<uint8_t>(device.size())};
    bytes.insert(bytes.end(), device.begin(), device.end());
    bytes.insert(bytes.end(), iface.begin(), iface.end());
    return bytes;
}

Address Address::unpack(const Bytes &bytes)
{
    REQUIRE(!bytes.empty() && bytes.size() > bytes[0], "short address");
    auto middle = bytes.begin() + 1 + bytes[0];
    return {{bytes.begin() + 1, middle}, {middle, bytes.end()}};
}

ucs_status_t Iface::open(const Domain &domain, Worker &worker,
                         const std::string &device, const std::string &tl,
                         Iface *owner, uct_iface_h *iface)
{
    uct_iface_config_t *config;
    REQUIRE_OK(uct_md_iface_config_read(domain.handle(), tl.c_str(), nullptr,
                                        nullptr, &config));
    uct_iface_params_t params{};
    params.field_mask = UCT_IFACE_PARAM_FIELD_OPEN_MODE |
                        UCT_IFACE_PARAM_FIELD_DEVICE |
                        UCT_IFACE_PARAM_FIELD_STATS_ROOT |
                        UCT_IFACE_PARAM_FIELD_RX_HEADROOM |
                        UCT_IFACE_PARAM_FIELD_ERR_HANDLER |
                        UCT_IFACE_PARAM_FIELD_ERR_HANDLER_ARG |
                        UCT_IFACE_PARAM_FIELD_ERR_HANDLER_FLAGS;
    params.open_mode            = UCT_IFACE_OPEN_MODE_DEVICE;
    params.mode.device.tl_name  = tl.c_str();
    params.mode.device.dev_name = device.c_str();
    params.err_handler          = on_error;
    params.err_handler_arg      = owner;
    ucs_status_t status = uct_iface_open(domain.handle(), worker.handle(),
                                         &params, config, iface);
    uct_config_release(config);
    return status;
}

ucs_status_t Iface::try_open(const Domain &domain, Worker &worker,
                             const std::string &device)
{
    uct_iface_h iface;
    ucs_status_t status = open(domain, worker, device, "fuselink", nullptr,
                               &iface);
    if (status == UCS_OK) {
        uct_iface_close(iface);
    }
    return status;
}

Iface::Iface(const Domain &domain, Worker &worker, const std::string &device,
             const std::string &tl)
    : domain_(domain), worker_(worker)
{
    REQUIRE_OK(open(domain, worker, device, tl, this, &iface_));
    REQUIRE_OK(uct_iface_query(iface_, &attr_));
    uct_iface_progress_enable(iface_, UCT_PROGRESS_SEND | UCT_PROGRESS_RECV);
}

Iface::~Iface()
{
    uct_iface_close(iface_);
}

Address Iface::address() const
{
    Address address;
    address.device.resize(attr_.device_addr_len);
    address.iface.resize(attr_.iface_addr_len);
    REQUIRE_OK(uct_iface_get_device_address(
        iface_, reinterpret_cast<uct_device_addr_t *>(address.device.data())));
    REQUIRE_OK(uct_iface_get_address(
        iface_, reinterpret_cast<uct_iface_addr_t *>(address.iface.data())));
    return address;
}

void Iface::on_message(uint8_t id, Handler handler)
{
    Handler &stored = handlers_[id]; /* nodes of a map stay where they are */
    stored          = std::move(handler);
    REQUIRE_OK(uct_iface_set_am_handler(iface_, id, receive, &stored, 0));
}

ucs_status_t Iface::receive(void *arg, void *data, size_t length,
                            unsigned flags)
{
    return (*static_cast<Handler *>(arg))(data, length, flags);
}

ucs_status_t Iface::on_error(void *arg, uct_ep_h ep, ucs_status_t status)
{
    auto *iface = static_cast<Iface *>(arg);
    ++iface->errors_[ep];
    iface->last_error_ = status;
    return UCS_OK;
}

} // namespace fltest
