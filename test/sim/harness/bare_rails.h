/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_SIM_HARNESS_BARE_RAILS_H
#define FUSELINK_TEST_SIM_HARNESS_BARE_RAILS_H

#include "sim_host.h"
#include "sim_worker.h"
#include "ucx.h"

#include <span>
#include <vector>

namespace fuselink::sim {

/** fuselink's interface in a simulated process, with its worker and memory domain, for who
 *  has no script and no ledger. */
class BareRails {
public:
    struct Setting {
        const char *name, *value;
    };
    struct Settings {
        std::span<const Setting> md, iface;
    };

    BareRails(Process &process, NodeMemory &node);
    ~BareRails() { close(); }
    BareRails(const BareRails &)            = delete;
    BareRails &operator=(const BareRails &) = delete;

    /** `on_failure` may be null: nothing is to fail. */
    bool open(const Settings &settings, uct_error_handler_t on_failure, void *arg);
    /** No endpoint is left. The memory domain stays until close(). */
    void close_iface();
    void close();

    /** In front of calls on UCT that are not made by this. */
    void run() const;

    Process                &process() { return process_; }
    uct_md_h                md() const { return md_; }
    uct_iface_h             iface() const { return iface_; }
    const uct_iface_attr_t &attr() const { return attr_; }
    std::vector<uint8_t>    device_address() const;
    std::vector<uint8_t>    iface_address() const;

    /** Null if there is none to be had. */
    uct_ep_h connect(const std::vector<uint8_t> &device,
                     const std::vector<uint8_t> &iface) const;
    /** True if anything was found. */
    bool     progress(unsigned times);

private:
    Process             &process_;
    SimHost              host_;
    SimWorker            worker_;
    uct_md_h             md_     = nullptr;
    uct_iface_h          iface_  = nullptr;
    uct_iface_attr_t     attr_{};
};

} // namespace fuselink::sim

#endif
