/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "alias_iface.h"

#include "alias_md.h"
#include "iface.h"
#include "internal_ops.h"

#include <cstring>

namespace fuselink {
namespace {

/* The real interface's part of a device address. */
const uct_device_addr_t *behind(const uct_device_addr_t *addr)
{
    return reinterpret_cast<const uct_device_addr_t *>(
        reinterpret_cast<const uint8_t *>(addr) +
        sizeof(wire::DeviceAddress));
}

} // namespace

ucs_status_t AliasIface::open(uct_md_h md, uct_worker_h worker,
                              const uct_iface_params_t *params,
                              const uct_iface_config_t *config,
                              uct_iface_h *iface_p)
{
    std::unique_ptr<AliasIface> iface(new AliasIface);
    ucs_status_t status = iface->init(md, worker, params, config);
    if (status == UCS_OK) {
        *iface_p = &iface.release()->super;
    }
    return status;
}

ucs_status_t AliasIface::init(uct_md_h tl_md, uct_worker_h tl_worker,
                              const uct_iface_params_t *params,
                              const uct_iface_config_t *config)
{
    static uct_iface_internal_ops_t internal_ops = [] {
        auto table                = internal_ops_table();
        table.iface_estimate_perf = [](uct_iface_h iface,
                                       uct_perf_attr_t *attr) {
            return uct_iface_estimate_perf(real(iface), attr);
        };
        return table;
    }();
    uct_iface_ops_t ops = ops_table();
    ucs_status_t status = init_base_iface(this, &ops, &internal_ops, tl_md,
                                          tl_worker, params, config);
    if (status != UCS_OK) {
        return status;
    }
    base_ready_ = true;

    /* Errors are reported of endpoints that the user has. */
    UctIfaceParams lower;
    lower.worker          = tl_worker;
    lower.user            = params;
    lower.rx_headroom     = UCT_IFACE_PARAM_VALUE(params, rx_headroom,
                                                  RX_HEADROOM, 0);
    lower.err_handler     = UCT_IFACE_PARAM_VALUE(params, err_handler,
                                                  ERR_HANDLER, nullptr);
    lower.err_handler_arg = UCT_IFACE_PARAM_VALUE(params, err_handler_arg,
                                                  ERR_HANDLER_ARG, nullptr);

    AliasMd                 &md    = AliasMd::from(tl_md);
    const AliasComponent    &alias = md.alias();
    const UctMd::Resource *resource = md.real().find(alias.real_tl);
    if (resource == nullptr) {
        return UCS_ERR_NO_DEVICE;
    }
    md.in_use();
    status = UctIface::open(md.real(), resource->tl, resource->device,
                            lower, real_);
    if (status != UCS_OK) {
        return status;
    }
    if (sizeof(address_) + real_->attr().device_addr_len >
        wire::kMaxDeviceAddress) {
        ucs_error("fuselink: %s has a device address of %zu bytes, there is "
                  "room for %zu", alias.real_tl,
                  real_->attr().device_addr_len,
                  wire::kMaxDeviceAddress - sizeof(address_));
        return UCS_ERR_EXCEEDS_LIMIT;
    }
    address_.magic   = wire::kDeviceMagic;
    address_.version = wire::kProtocolVersion;
    address_.kind    = static_cast<uint8_t>(alias.kind);
    return UCS_OK;
}

AliasIface::~AliasIface()
{
    real_.reset();
    if (base_ready_) {
        cleanup_base_iface(this);
    }
}

ucs_status_t AliasIface::create_ep(const uct_ep_params_t *params, uct_ep_h *ep)
{
    uct_ep_params_t passed = *params;
    passed.iface           = real(params->iface);
    if (passed.field_mask & UCT_EP_PARAM_FIELD_DEV_ADDR) {
        passed.dev_addr = behind(params->dev_addr);
    }
#ifdef FUSELINK_HAS_UCT_EP_PARAMS_T_DEV_ADDR_LENGTH
    if (passed.field_mask & UCT_EP_PARAM_FIELD_DEV_ADDR_LENGTH) {
        passed.dev_addr_length -= sizeof(wire::DeviceAddress);
    }
#endif
    return uct_ep_create(&passed, ep);
}

ucs_status_t AliasIface::query(uct_iface_h iface, uct_iface_attr_t *attr)
{
    ucs_status_t status    = uct_iface_query(real(iface), attr);
    attr->device_addr_len += sizeof(wire::DeviceAddress);
    return status;
}

ucs_status_t AliasIface::get_device_address(uct_iface_h tl_iface,
                                            uct_device_addr_t *addr)
{
    const AliasIface &iface = from(tl_iface);
    const auto       &rest  = iface.real_->device_address();
    auto             *bytes = reinterpret_cast<uint8_t *>(addr);
    memcpy(bytes, &iface.address_, sizeof(iface.address_));
    if (!rest.empty()) {
        memcpy(bytes + sizeof(iface.address_), rest.data(), rest.size());
    }
    return UCS_OK;
}

int AliasIface::is_reachable(const uct_iface_h tl_iface,
                             const uct_device_addr_t *dev_addr,
                             const uct_iface_addr_t *iface_addr)
{
    const AliasIface &iface = from(tl_iface);
    return memcmp(dev_addr, &iface.address_, sizeof(iface.address_)) == 0 &&
           uct_iface_is_reachable(real(tl_iface), behind(dev_addr),
                                  iface_addr);
}

uct_iface_ops_t AliasIface::ops_table()
{
    uct_iface_ops_t ops = unsupported_ops();
    ops.ep_create   = create_ep;
    ops.ep_destroy  = uct_ep_destroy; /* never: an endpoint is the real one's */
    ops.iface_flush = [](uct_iface_h iface, unsigned flags,
                         uct_completion_t *comp) {
        return uct_iface_flush(real(iface), flags, comp);
    };
    ops.iface_fence = [](uct_iface_h iface, unsigned flags) {
        return uct_iface_fence(real(iface), flags);
    };
    ops.iface_progress_enable = [](uct_iface_h iface, unsigned flags) {
        uct_iface_progress_enable(real(iface), flags);
    };
    ops.iface_progress_disable = [](uct_iface_h iface, unsigned flags) {
        uct_iface_progress_disable(real(iface), flags);
    };
    ops.iface_progress = [](uct_iface_h iface) {
        return uct_iface_progress(real(iface));
    };
    ops.iface_event_fd_get = [](uct_iface_h iface, int *fd) {
        return uct_iface_event_fd_get(real(iface), fd);
    };
    ops.iface_event_arm = [](uct_iface_h iface, unsigned events) {
        return uct_iface_event_arm(real(iface), events);
    };
    ops.iface_close              = [](uct_iface_h iface) {
        delete &from(iface);
    };
    ops.iface_query              = query;
    ops.iface_get_device_address = get_device_address;
    ops.iface_get_address        = [](uct_iface_h iface,
                               uct_iface_addr_t *addr) {
        return uct_iface_get_address(real(iface), addr);
    };
    ops.iface_is_reachable       = is_reachable;
    return ops;
}

} // namespace fuselink
