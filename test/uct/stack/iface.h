/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_IFACE_H
#define FUSELINK_TEST_IFACE_H

#include "domain.h"

#include <functional>
#include <map>

namespace fltest {

/** Addresses of an interface, as they travel to the other process. */
struct Address {
    Bytes device;
    Bytes iface;

    Bytes pack() const;
    static Address unpack(const Bytes &bytes);
};

/** A UCT interface on one device. */
class Iface {
public:
    using Handler = std::function<ucs_status_t(void *data, size_t length,
                                               unsigned flags)>;

    Iface(const Domain &domain, Worker &worker, const std::string &device,
          const std::string &tl = "fuselink");
    ~Iface();
    Iface(const Iface &)            = delete;
    Iface &operator=(const Iface &) = delete;

    uct_iface_h             handle() const { return iface_; }
    const uct_iface_attr_t &attr() const { return attr_; }
    Worker                 &worker() const { return worker_; }
    const Domain           &domain() const { return domain_; }
    bool has(uint64_t flags) const
    {
        return (attr_.cap.flags & flags) == flags;
    }
    Address address() const;

    /** Runs for each message with this id; not by exceptions, see Failed. */
    void on_message(uint8_t id, Handler handler);

    /** How often the error handler was called, by endpoint. */
    const std::map<uct_ep_h, unsigned> &errors() const { return errors_; }
    void forget_errors() { errors_.clear(); }
    ucs_status_t last_error() const { return last_error_; }

    /** The status of opening this device, which is closed again. */
    static ucs_status_t try_open(const Domain &domain, Worker &worker,
                                 const std::string &device);

private:
    static ucs_status_t open(const Domain &domain, Worker &worker,
                             const std::string &device, const std::string &tl,
                             Iface *owner, uct_iface_h *iface);
    static ucs_status_t receive(void *arg, void *data, size_t length,
                                unsigned flags);
    static ucs_status_t on_error(void *arg, uct_ep_h ep, ucs_status_t status);

    const Domain                &domain_;
    Worker                      &worker_;
    uct_iface_h                  iface_;
    uct_iface_attr_t             attr_;
    std::map<uint8_t, Handler>   handlers_;
    std::map<uct_ep_h, unsigned> errors_;
    ucs_status_t                 last_error_ = UCS_OK;
};

} // namespace fltest

#endif
