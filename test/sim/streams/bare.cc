/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "bare.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace fuselink::sim {
namespace {

uct_component_h find_component()
{
    uct_component_h *components = nullptr;
    unsigned         count      = 0;
    uct_component_h  found      = nullptr;
    uct_query_components(&components, &count);
    for (unsigned i = 0; i < count; ++i) {
        uct_component_attr_t attr{};
        attr.field_mask = UCT_COMPONENT_ATTR_FIELD_NAME;
        uct_component_query(components[i], &attr);
        if (strcmp(attr.name, "sim") == 0) {
            found = components[i];
        }
    }
    uct_release_component_list(components);
    return found;
}

} // namespace

Bare::~Bare()
{
    disconnect();
    if (iface_ != nullptr) {
        uct_iface_close(iface_);
    }
    if (md_ != nullptr) {
        uct_md_close(md_);
    }
    worker_.close();
}

bool Bare::open()
{
    World              &world     = process_.world();
    uct_component_h     component = find_component();
    uct_md_config_t    *md_config = nullptr;
    uct_iface_config_t *config    = nullptr;
    if (component == nullptr ||
        !worker_.open() ||
        uct_md_config_read(component, nullptr, nullptr, &md_config) !=
            UCS_OK) {
        return false;
    }
    world.opening       = &process_;
    ucs_status_t status = uct_md_open(component, "sim", md_config, &md_);
    world.opening       = nullptr;
    uct_config_release(md_config);
    if (status != UCS_OK || uct_md_iface_config_read(md_, "sim_tcp", nullptr,
                                                     nullptr, &config) !=
                                UCS_OK) {
        return false;
    }
    uct_iface_params_t params{};
    params.field_mask = UCT_IFACE_PARAM_FIELD_OPEN_MODE |
                        UCT_IFACE_PARAM_FIELD_DEVICE |
                        UCT_IFACE_PARAM_FIELD_ERR_HANDLER |
                        UCT_IFACE_PARAM_FIELD_ERR_HANDLER_ARG;
    params.open_mode            = UCT_IFACE_OPEN_MODE_DEVICE;
    params.mode.device.tl_name  = "sim_tcp";
    params.mode.device.dev_name =
        world.nics(process_.node())[0].ip_device.c_str();
    params.err_handler_arg = this;
    params.err_handler     = [](void *arg, uct_ep_h, ucs_status_t) {
        ++static_cast<Bare *>(arg)->errors_;
        return UCS_OK;
    };
    status = uct_iface_open(md_, worker_.handle(), &params, config, &iface_);
    uct_config_release(config);
    if (status == UCS_OK) {
        uct_iface_progress_enable(iface_, UCT_PROGRESS_SEND |
                                              UCT_PROGRESS_RECV);
    }
    return status == UCS_OK;
}

bool Bare::connect(const Bare &peer)
{
    uct_iface_attr_t attr;
    if (uct_iface_query(peer.iface_, &attr) != UCS_OK) {
        return false;
    }
    std::vector<uint8_t> device(attr.device_addr_len),
        iface(attr.iface_addr_len);
    auto *device_address = reinterpret_cast<uct_device_addr_t *>(device.data());
    auto *iface_address  = reinterpret_cast<uct_iface_addr_t *>(iface.data());
    uct_ep_params_t params{};
    params.field_mask = UCT_EP_PARAM_FIELD_IFACE |
                        UCT_EP_PARAM_FIELD_DEV_ADDR |
                        UCT_EP_PARAM_FIELD_IFACE_ADDR;
    params.iface      = iface_;
    params.dev_addr   = device_address;
    params.iface_addr = iface_address;
    return uct_iface_get_device_address(peer.iface_, device_address) ==
               UCS_OK &&
           uct_iface_get_address(peer.iface_, iface_address) == UCS_OK &&
           uct_ep_create(&params, &ep_) == UCS_OK;
}

void Bare::disconnect()
{
    if (ep_ != nullptr) {
        uct_ep_pending_purge(ep_, [](uct_pending_req_t *, void *) {}, nullptr);
        uct_ep_destroy(ep_);
        ep_ = nullptr;
    }
}

bool Bare::put(const Bare &peer, size_t length)
{
    Put &put  = puts_.emplace_back(Put{{}, this, 0});
    put.comp  = {[](uct_completion_t *comp) {
                    Put &one = *reinterpret_cast<Put *>(comp);
                    ++one.ends;
                    ++(comp->status == UCS_OK ? one.owner->well_ :
                                                one.owner->badly_);
                },
                 1, UCS_OK};
    const uct_iov_t iov{process_.arena(), length, UCT_MEM_HANDLE_NULL, 0, 1};
    const ucs_status_t status = uct_ep_put_zcopy(
        ep_, &iov, 1, reinterpret_cast<uintptr_t>(peer.process_.arena()),
        UCT_INVALID_RKEY, &put.comp);
    if (status != UCS_INPROGRESS) {
        puts_.pop_back();
    }
    return status == UCS_INPROGRESS;
}

bool Bare::is_exact() const
{
    return std::all_of(puts_.begin(), puts_.end(),
                       [](const Put &put) { return put.ends <= 1; });
}

} // namespace fuselink::sim
