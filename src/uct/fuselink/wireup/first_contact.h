/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_WIREUP_FIRST_CONTACT_H
#define FUSELINK_WIREUP_FIRST_CONTACT_H

#include "../host/stream_control.h"
#include "../sched/units.h"
#include "connect_timer.h"

#include <cstdint>

namespace fuselink {

/**
 * What the kernel knows of the first connection to a peer, where that is a stream, and of
 * each hello, and what follows. Nothing else watches them: there are no messages yet, nor
 * bulk data.
 *
 * Reads no clock. One thread at a time (the worker's).
 */
class FirstContact {
public:
    enum class Verdict : uint8_t {
        Wait,
        TryAnother, /* of the peer's NICs, beside this connection */
        BeginAnew,  /* the same one, or any other */
        Leave       /* the hello was given to it, and its wire is silent */
    };

    /** The other kernel is to answer within this time, or another NIC is tried as well:
     *  more than any round trip, and less than the second after which Linux asks again. */
    static constexpr sched::Nanos kKernel = sched::Nanos::millis(400);
    /** The same for its program, which may take its time; but what it answers may be
     *  lost, and one more connection does no harm. */
    static constexpr sched::Nanos kProgram = ConnectTimer::kPatience;
    /** After so long the kernel is asked by another connection, where no other NIC is
     *  left: the same one asks ever more rarely, and its question may be forgotten
     *  there. */
    static constexpr sched::Nanos kAnew = sched::Nanos::seconds(2);
    /** Between two looks. */
    static constexpr sched::Nanos kPause = sched::Nanos::millis(50);
    /** Time-outs in a row after which a wire is silent. */
    static constexpr unsigned kTimeouts = 2;

    /** A connection was begun then. */
    void begin(sched::Nanos time)
    {
        begun_    = time;
        heard_    = heard_ == sched::Nanos() ? time : heard_;
        looked_   = looked_ == sched::Nanos() ? time : looked_;
        look_     = {};
        answered_ = false;
        hello_goes();
    }
    /** A hello goes to the peer, the first or another one. */
    void hello_goes() { told_ = false; }

    /** The last connection was begun then. */
    sched::Nanos begun() const { return begun_; }
    bool due(sched::Nanos now) const { return now >= look_; }
    /** The other kernel has answered. */
    bool answered() const { return answered_; }
    /** It has our hello. */
    bool told() const { return told_; }
    /** For so long no kernel has answered any connection, as far as somebody looked. */
    sched::Nanos unanswered(sched::Nanos now) const
    {
        return answered_ ? sched::Nanos() : now - heard_;
    }

    /** What the kernel says while the peer has not answered. `has_another`: NIC that
     *  was not tried. */
    Verdict look_at_connecting(const StreamState &state, sched::Nanos now,
                               bool has_another)
    {
        heard_    = heard_ + ConnectTimer::away(now - looked_);
        looked_   = now;
        look_     = now + kPause;
        answered_ = state.phase != StreamState::Phase::Connecting;
        heard_    = answered_ ? now : heard_;
        const sched::Nanos waits = now - begun_;
        const bool silent = answered_ ? waits > kProgram || is_silent(state) :
                                        waits > kKernel;
        if (silent && has_another) {
            return Verdict::TryAnother;
        }
        return !answered_ && waits > kAnew ? Verdict::BeginAnew : Verdict::Wait;
    }

    /** The same when the transport has taken the hello. */
    Verdict look_at_hello(const StreamState &state, sched::Nanos now)
    {
        look_ = now + kPause;
        told_ = state.unacked.is_zero();
        return is_silent(state) ? Verdict::Leave : Verdict::Wait;
    }

private:
    static bool is_silent(const StreamState &state)
    {
        return state.segments != 0 && state.retransmits >= kTimeouts;
    }

    sched::Nanos begun_;
    sched::Nanos heard_; /* a kernel's last answer to any; before that, the first begun */
    sched::Nanos look_;  /* next, */
    sched::Nanos looked_; /* and last */
    bool         answered_ = false, told_ = false;
};

} // namespace fuselink

#endif
