/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_CONN_SEEN_TIMER_H
#define FUSELINK_CONN_SEEN_TIMER_H

#include "../host/host.h"

#include <vector>

namespace fuselink {

/**
 * Connections of one interface whose peers do not know yet that their last messages
 * have come. Most hear of it from the next message that goes there, or when they
 * have sent many; the others a little later, from here, so that they need not keep
 * what they sent.
 *
 * One thread at a time (the worker's).
 */
class SeenTimer {
public:
    class Client {
    public:
        /** The time is over. May owe() anew. */
        virtual void tell_seen() = 0;

    protected:
        ~Client() = default;
    };

    explicit SeenTimer(const Host &host) : host_(host) {}
    SeenTimer(const SeenTimer &)            = delete;
    SeenTimer &operator=(const SeenTimer &) = delete;

    /** Until tell_seen() is called. */
    void owe(Client &client) { clients_.push_back(&client); }
    /** The client is destroyed. */
    void forget(const Client &client) { std::erase(clients_, &client); }

    bool empty() const { return clients_.empty(); }

    /** From progress, and only when not empty(). Most calls only count. */
    void check()
    {
        if (++calls_ % kCalls == 0) {
            look();
        }
    }
    /** Nobody will look for a while. */
    void tell_all();

private:
    static constexpr unsigned kCalls = 64;

    void look();

    const Host           &host_;
    std::vector<Client *> clients_;
    unsigned              calls_ = 0;
    sched::Nanos          since_; /* 0: not looked yet */
};

} // namespace fuselink

#endif
