/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_LINK_H
#define FUSELINK_TEST_LINK_H

#include "endpoint.h"
#include "harness/case.h"

namespace fltest {

/** What most cases begin with, the same on both sides: a worker, an endpoint to
 *  the other side's, and memory that the other side may use. */
class Link {
public:
    struct Options {
        size_t            memory   = 1 << 20;
        uint64_t          features = Context::Options{}.features;
        ucs_thread_mode_t threads  = UCS_THREAD_MODE_SINGLE;
        bool              watched  = false; /* failures are reported */
        bool              connect  = true;  /* this side has an endpoint, too */
    };

    Link(Channel channel, const Options &options)
        : channel_(std::move(channel)),
          context_({.features = options.features}),
          worker_(context_, options.threads),
          memory_(context_, options.memory), watched_(options.watched)
    {
        channel_.send(worker_.address());
        channel_.send(memory_.describe());
        peer_address_ = channel_.receive();
        peer_memory_  = channel_.receive();
        if (options.connect) {
            connect();
        }
        meet();
    }
    Link(const Session &session, const Options &options)
        : Link(session.connection(), options)
    {
    }

    const Channel &channel() const { return channel_; }
    const Context &context() const { return context_; }
    Worker        &worker() { return worker_; }
    Endpoint      &ep() { return *ep_; }
    Memory        &memory() { return memory_; }
    const Remote  &remote() const { return *remote_; }
    const Bytes   &peer_address() const { return peer_address_; }
    const Bytes   &peer_memory() const { return peer_memory_; }

    void connect()
    {
        ep_     = std::make_unique<Endpoint>(worker_, peer_address_, watched_);
        remote_ = std::make_unique<Remote>(ep_->handle(), peer_memory_);
    }
    void disconnect(bool force = false)
    {
        ep_->close(force);
        /* Operations that had to wait need the key until they end. */
        remote_.reset();
        ep_.reset();
    }

    /** Both sides progress until both are here. */
    void meet() { worker_.meet(channel_, ++mark_); }

    /** One side tells the other, which progresses until then. */
    void tell() { channel_.send_mark(++told_ + kTold); }
    void await_told() { worker_.await(channel_, ++told_ + kTold); }

    /** The end of a case: both sides are done, then both close. */
    void finish()
    {
        meet();
        disconnect();
        meet();
    }

private:
    static constexpr uint64_t kTold = uint64_t{1} << 32;

    Channel                   channel_;
    Context                   context_;
    Worker                    worker_;
    Memory                    memory_;
    bool                      watched_;
    Bytes                     peer_address_;
    Bytes                     peer_memory_;
    std::unique_ptr<Endpoint> ep_;
    std::unique_ptr<Remote>   remote_;
    uint64_t                  mark_ = 0;
    uint64_t                  told_ = 0;
};

} // namespace fltest

#endif
