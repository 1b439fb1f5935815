/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_EDGE_CM_H
#define FUSELINK_EDGE_CM_H

#include "../ucx.h"

namespace fuselink {

/**
 * The connection manager: endpoints by socket address, as ucp_listener_create() has them.
 *
 * UCX's own for TCP does all the work, and what goes over the wire is its own. But it says
 * that a connection came over device `eth0`, say, where UCP then looks for transports, and
 * with which it reaches the peer. This one says the same of device `rails`, under an address
 * that names no node (CmRemote); all NICs follow from the address of the interface, which UCP
 * sends along. Behind that go a few bytes of our own (wire/cm_data.h), for the version.
 *
 * Called from UCP's threads and from the asynchronous one, which that blocks for it.
 */
class Cm : public uct_cm_t {
public:
    /** With the configuration of UCX's own. */
    static ucs_status_t open(uct_component_t *component, uct_worker_h worker,
                             const uct_cm_config_t *config, uct_cm_h *cm);
    static Cm &from(uct_cm_h cm) { return *static_cast<Cm *>(cm); }

    /** UCX's component with the one that does the work; nullptr if it has none. */
    static uct_component_t *real_component();

    uct_cm_h real() const { return real_; }

    Cm(const Cm &)            = delete;
    Cm &operator=(const Cm &) = delete;

private:
    Cm() = default;
    ~Cm();

    ucs_status_t init(uct_component_t *component, uct_worker_h worker,
                      const uct_cm_config_t *config);

    static void         close(uct_cm_h cm);
    static ucs_status_t query(uct_cm_h cm, uct_cm_attr_t *attr);
    static uct_cm_ops_t ops_table();

    uct_cm_h real_       = nullptr;
    bool     base_ready_ = false;
};

/** Replaces the name of a NIC, in what users are told, by that of our device. */
void name_rails(char (&device)[UCT_DEVICE_NAME_MAX]);

} // namespace fuselink

#endif
