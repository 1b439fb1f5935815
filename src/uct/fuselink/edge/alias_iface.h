/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_EDGE_ALIAS_IFACE_H
#define FUSELINK_EDGE_ALIAS_IFACE_H

#include "../rail/uct_objects.h"
#include "../ucx.h"
#include "../wire/address.h"

#include <memory>

namespace fuselink {

/**
 * The interface of an alias. Its endpoints are those of the real interface, so
 * an operation costs what it costs there.
 *
 * The device address has fuselink's own in front of the real one's: all devices
 * of a transport are asked about each address of it, whatever the device.
 */
class AliasIface : public uct_base_iface_t {
public:
    static ucs_status_t open(uct_md_h md, uct_worker_h worker,
                             const uct_iface_params_t *params,
                             const uct_iface_config_t *config,
                             uct_iface_h *iface);
    ~AliasIface();

private:
    AliasIface() = default;

    static AliasIface &from(uct_iface_h iface)
    {
        return *static_cast<AliasIface *>(
            reinterpret_cast<uct_base_iface_t *>(iface));
    }
    static uct_iface_h real(uct_iface_h iface)
    {
        return from(iface).real_->handle();
    }
    static uct_iface_ops_t ops_table();

    ucs_status_t init(uct_md_h md, uct_worker_h worker,
                      const uct_iface_params_t *params,
                      const uct_iface_config_t *config);

    static ucs_status_t create_ep(const uct_ep_params_t *params, uct_ep_h *ep);
    static ucs_status_t query(uct_iface_h iface, uct_iface_attr_t *attr);
    static ucs_status_t get_device_address(uct_iface_h iface,
                                           uct_device_addr_t *addr);
    static int is_reachable(const uct_iface_h iface,
                            const uct_device_addr_t *dev_addr,
                            const uct_iface_addr_t *iface_addr);

    bool                        base_ready_ = false;
    wire::DeviceAddress         address_{};
    std::unique_ptr<UctIface> real_;
};

} // namespace fuselink

#endif
