/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_SIM_FABRIC_CHANNEL_H
#define FUSELINK_TEST_SIM_FABRIC_CHANNEL_H

#include "nic.h"

#include <deque>
#include <functional>
#include <memory>

namespace fuselink::sim {

class World;

/**
 * One direction of a connection that keeps order and loses nothing: what a kernel
 * or an RDMA NIC makes of a network that does. While the network is silent it
 * sends again, less and less often, and gives up after a while.
 */
class Channel : public std::enable_shared_from_this<Channel> {
public:
    /** @param patience how long it sends again before it gives up
     *  @param again    when it does so first after a loss */
    Channel(World &world, Nic &from, Nic &to, Instant patience, Instant again)
        : world_(world), from_(from), to_(to), patience_(patience),
          again_(again)
    {
    }

    /** Bytes that leave now; `arrive` is called when they are at the other end,
     *  in the order of the calls. */
    void send(size_t bytes, Timeline::Event arrive);

    /** What is under way arrives so much later. */
    void hold(Instant time);
    /** Nothing of what is under way arrives any more. */
    void cut();
    /** Who has sent what is under way is no more: what the network loses of it is
     *  lost. (A reset behind it is not: whoever asks gets it.) */
    void stop_repeating();
    /** Is called when it gives up; once. */
    std::function<void()> on_give_up;

    size_t under_way() const { return under_way_; }
    /** How often it has sent again since the last that arrived, and when it sent
     *  at all. */
    unsigned tries() const { return tries_; }
    Instant  last_sent() const { return last_sent_; }
    uint64_t resent() const { return resent_; } /* bytes */
    /** Nothing gets to the other end now. */
    bool is_silent() const { return !from_.reaches(to_); }
    /** From here to there, for the first bit. */
    Instant delay() const
    {
        return from_.delay + to_.delay + from_.jitter + to_.jitter;
    }

private:
    struct Packet {
        size_t          bytes;
        Instant         due;
        Timeline::Event arrive;
        bool            repeats = true;
    };

    void schedule();
    void lose_all();
    void front_is_due();

    World             &world_;
    Nic               &from_, &to_;
    const Instant      patience_, again_;
    std::deque<Packet> packets_;
    size_t             under_way_ = 0; /* bytes */
    Instant            silent_since_ = -1;
    Instant            pause_  = 0;
    bool               probes_ = false; /* that is no time-out, next */
    unsigned           tries_  = 0;
    Instant            last_sent_ = 0;
    uint64_t           resent_    = 0; /* bytes */
    Instant            last_   = 0; /* arrival */
    bool               armed_  = false;
    bool               cut_    = false;
};

} // namespace fuselink::sim

#endif
