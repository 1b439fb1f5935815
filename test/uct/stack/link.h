/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_LINK_H
#define FUSELINK_TEST_LINK_H

#include "harness/case.h"
#include "harness/pattern.h"
#include "endpoint.h"

#include <memory>

namespace fltest {

/** What most cases begin with, the same on both sides: an interface, an
 *  endpoint to the other side's, and memory that the other side may use. */
class Link {
public:
    struct Options {
        std::string device = "rails";
        size_t      memory = 1 << 20;
        bool        connect = true; /* this side has an endpoint, too */
    };

    /** `channel` is Session::connection(). */
    Link(const Channel &channel, const Options &options);

    const Channel &channel() const { return channel_; }
    const Domain  &domain() const { return domain_; }
    Worker        &worker() { return worker_; }
    Iface         &iface() { return iface_; }
    Endpoint      &ep() { return *ep_; }
    Memory        &memory() { return memory_; }
    const Remote  &remote() const { return *remote_; }
    const Address &peer_address() const { return peer_address_; }

    /** What Options::connect left out. */
    void connect() { ep_ = another_ep(); }
    void disconnect() { ep_.reset(); }

    /** Another endpoint to the same peer. */
    std::unique_ptr<Endpoint> another_ep()
    {
        return std::make_unique<Endpoint>(iface_, peer_address_);
    }

    /** Both sides progress until both are here. */
    void meet() { worker_.meet(channel_, ++mark_); }

    /** As meet(), with the endpoint's connection established: after it a
     *  message leaves though the peer does not progress. */
    void settle()
    {
        ep_->am_short(kSettle, 0);
        ep_->flush_now();
        meet();
    }

    /** One side tells the other, which progresses until then. */
    void tell() { channel_.send_mark(++told_ + kTold); }
    void await_told() { worker_.await(channel_, ++told_ + kTold); }

private:
    static constexpr uint64_t kTold   = uint64_t{1} << 32;
    static constexpr uint8_t  kSettle = 30; /* message id */

    const Channel            &channel_;
    Domain                    domain_;
    Worker                    worker_;
    Iface                     iface_;
    Memory                    memory_;
    Address                   peer_address_;
    std::unique_ptr<Remote>   remote_;
    std::unique_ptr<Endpoint> ep_;
    uint64_t                  mark_ = 0;
    uint64_t                  told_ = 0;
};

} // namespace fltest

#endif
