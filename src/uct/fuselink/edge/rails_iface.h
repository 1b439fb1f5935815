/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_EDGE_RAILS_IFACE_H
#define FUSELINK_EDGE_RAILS_IFACE_H

#include "../engine/engine.h"
#include "../ucx.h"
#include "../wire/address.h"
#include "met_by_socket.h"

#include <memory>

namespace fuselink {

struct IfaceConfig;

/** Device `rails`: all NICs of the node as one interface. Translates UCT's
 *  calls to Engine and Peer. */
class RailsIface : public uct_base_iface_t {
public:
    static ucs_status_t open(uct_md_h md, uct_worker_h worker,
                             const uct_iface_params_t *params,
                             const uct_iface_config_t *config,
                             uct_iface_h *iface);
    ~RailsIface();

    /** What the settings amount to. UCS_ERR_INVALID_PARAM, with one line, if one is not
     *  accepted. What is decided by measurement (`progress`) is left out. */
    static ucs_status_t read_settings(const IfaceConfig &config,
                                      EngineSettings    &settings);

    static RailsIface &from(uct_iface_h iface)
    {
        return *static_cast<RailsIface *>(
            reinterpret_cast<uct_base_iface_t *>(iface));
    }

    Engine      &engine() { return *engine_; }
    MetBySocket &met() { return met_; }

private:
    RailsIface() = default;

    static uct_iface_ops_t ops_table();

    ucs_status_t init(uct_md_h md, uct_worker_h worker,
                      const uct_iface_params_t *params,
                      const uct_iface_config_t *config);

    static ucs_status_t query(uct_iface_h iface, uct_iface_attr_t *attr);
    static ucs_status_t estimate_perf(uct_iface_h iface,
                                      uct_perf_attr_t *attr);
    static ucs_status_t get_device_address(uct_iface_h iface,
                                           uct_device_addr_t *addr);
    static ucs_status_t get_address(uct_iface_h iface, uct_iface_addr_t *addr);
    static int is_reachable(const uct_iface_h iface,
                            const uct_device_addr_t *dev_addr,
                            const uct_iface_addr_t *iface_addr);
    static ucs_status_t flush(uct_iface_h iface, unsigned flags,
                              uct_completion_t *comp);
    static ucs_status_t fence(uct_iface_h iface, unsigned flags);
    static unsigned     progress(uct_iface_h iface);
    static ucs_status_t event_fd_get(uct_iface_h iface, int *fd);
    static ucs_status_t event_arm(uct_iface_h iface, unsigned events);
    static void         close(uct_iface_h iface);

    bool                    base_ready_   = false;
    bool                    said_version_ = false;
    MetBySocket             met_;
    wire::DeviceAddress     device_address_{};
    std::unique_ptr<Engine> engine_;
};

} // namespace fuselink

#endif
