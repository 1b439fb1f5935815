/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_CONN_STREAM_WATCH_H
#define FUSELINK_CONN_STREAM_WATCH_H

#include "../host/stream_control.h"
#include "../sched/echo.h"
#include "../sched/quiet_clock.h"
#include "../sched/stall_clock.h"
#include "../sched/units.h"

#include <algorithm>
#include <cstdint>

namespace fuselink {

/**
 * What is remembered of one connection from look to look, to find out that it has
 * fallen silent (SilenceWatch). While what was given to it ends, its kernel, or the
 * other NIC, is not asked.
 *
 * One thread at a time (the worker's).
 */
struct StreamWatch {
    /** So long nothing of it may end before its kernel is asked: looking costs two
     *  system calls. */
    static constexpr sched::Nanos kPatience = sched::Nanos::millis(8);
    /** For the other kernel to answer a connection: Linux asks again after a second. */
    static constexpr sched::Nanos kUnanswered = sched::Nanos::millis(1500);

    /** `done` counts what has ended. True if its kernel is to be asked. */
    bool note(bool waits, uint64_t done, sched::Nanos now)
    {
        if (done != done_ || !waits || is_new()) {
            done_at    = done != done_ && !is_new() ? now : done_at;
            began      = now;
            done_      = done;
            waits_from = now;
            clock      = {};
            quiet      = {};
        }
        waits_ = waits;
        return waits && now - waits_from >= kPatience;
    }
    /** Nothing was noted. */
    bool is_new() const { return waits_from == sched::Nanos(); }
    /** Something has ended since its kernel was asked, or has begun to wait: asking costs
     *  system calls. */
    bool may_hear(sched::Nanos now) const
    {
        return (waits_ ? began : done_at) > looked_at &&
               now - looked_at >= kPatience / 2;
    }
    /** When its kernel last heard of the other one. */
    void hear(const StreamState &state, sched::Nanos now)
    {
        acked_at = std::max(acked_at, now - state.since_ack);
        if (state.acked != unheard_.acked || acked_at > unheard_.from ||
            now - looked_at > kAbsent) {
            unheard_ = {state.segments != 0 ? now : sched::Nanos(), state.acked,
                        state.resent};
        }
        looked_at = now;
    }
    /** Its kernel has sent some of what it waits for twice, as far as it was asked, and has
     *  heard nothing meanwhile. */
    bool sent_again(const StreamState &state) const
    {
        return unheard_.from != sched::Nanos() && state.resent > unheard_.resent;
    }
    struct Passed {
        sched::Nanos since;   /* its kernel had last heard of the other the last time that
                                 something had passed */
        uint64_t packets = 0; /* acknowledged, about */
        uint64_t lost    = 0; /* as far as that is known: sent once more, and something was
                                 acknowledged since */
    };
    /** What it says. Returns what has passed since the last time. */
    Passed take(const StreamState &state, sched::Nanos now)
    {
        const sched::Nanos since = taken_at_ != sched::Nanos() ? taken_at_ : acked_at;
        hear(state, now);
        if (state.acked == acked_) {
            return {};
        }
        taken_at_ = acked_at;
        const uint64_t mss     = std::max(state.mss, 1u);
        auto           packets = [mss](uint64_t is, uint64_t was) {
            return (is - std::min(is, was) + mss - 1) / mss;
        };
        const uint64_t resent  = packets(state.resent, resent_);
        /* That one was sent again in vain is known only later, when it counts as lost. */
        const uint64_t all     = wrong_ + state.in_vain - std::min(state.in_vain, in_vain_);
        const uint64_t in_vain = std::min(resent, all);
        const Passed   passed{since, packets(state.acked, acked_), resent - in_vain};
        wrong_   = std::min(all - in_vain, kMostWrong);
        acked_   = state.acked;
        resent_  = state.resent;
        in_vain_ = state.in_vain;
        return passed;
    }
    /** So many time-outs in a row its kernel has had more than the last time. */
    unsigned more_timeouts(const StreamState &state)
    {
        const unsigned more = state.retransmits - std::min(state.retransmits, retransmits_);
        retransmits_        = state.retransmits;
        return more;
    }
    /** The last that is known to have come of the other side, over this wire or another. */
    sched::Nanos heard_at() const { return std::max(acked_at, done_at); }

    sched::StallClock clock; /* of a stream */
    sched::Echo       echo;  /* of a path's: the peer's program has to answer */
    sched::QuietClock quiet; /* of any other */
    sched::Nanos      acked_at;   /* by the other kernel, when that was asked */
    sched::Nanos      looked_at;  /* it was asked */
    sched::Nanos      done_at;    /* something ended */
    sched::Nanos      began;      /* to wait for the next */
    sched::Nanos      waits_from; /* the same, or nothing could be silent by then */
    sched::Nanos      probed_at;
    /* Of what is no stream: answers to checks, and when the last was asked for. */
    uint32_t          answers = 0;
    sched::Nanos      asked_at;

private:
    /* Who looks more rarely may have missed something. */
    static constexpr sched::Nanos kAbsent = kPatience * 3;
    /* Or what a network delivers twice would hide losses for ever. */
    static constexpr uint64_t kMostWrong = 8;

    /* Nothing was heard since then, when so much was acknowledged and sent again, and something
     * was in flight; 0: nothing was, or it is not known. */
    struct Unheard {
        sched::Nanos from;
        uint64_t     acked = 0, resent = 0; /* bytes */
    };
    Unheard  unheard_;
    bool     waits_ = false; /* for something to end */
    uint64_t done_  = 0;
    sched::Nanos taken_at_;           /* acked_at, when something had passed */
    uint64_t acked_ = 0, resent_ = 0; /* bytes, as its kernel said, */
    uint32_t in_vain_ = 0;            /* and packets; */
    uint64_t wrong_ = 0;              /* those that were not lost, though it was said */
    unsigned retransmits_ = 0;
};

} // namespace fuselink

#endif
