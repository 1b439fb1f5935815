/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_SCHED_UNHEARD_CLOCK_H
#define FUSELINK_SCHED_UNHEARD_CLOCK_H

#include "units.h"

#include <algorithm>

namespace fuselink::sched {

/**
 * How long something has waited for a peer from which nothing comes, for people: nothing
 * is given up for it (StallClock and QuietClock decide that).
 *
 * What counts is the time in which something waited and was looked at: a program may not
 * call for long, have nothing to send, or be stopped. Reads no clock, allocates nothing.
 */
class UnheardClock {
public:
    /** What stands still for so long is said: far more than lost packets take. */
    static constexpr Nanos kPatience = Nanos::seconds(5);
    /** At most so much of the time between two looks counts: a program that yields beside
     *  others may look a few times a second. */
    static constexpr Nanos kMostStep = Nanos::millis(250);
    /** And of the time before the first. */
    static constexpr Nanos kFirstStep = Nanos::millis(8);
    /** Of the kernel's clock: what it says happened may be so much later. */
    static constexpr Nanos kTick = Nanos::millis(10);
    /** Where nothing waits any more after that, and still nothing is heard, it is over. */
    static constexpr Nanos kIdle = Nanos::seconds(1);

    enum class Change {
        None,
        Begins, /* it has lasted so long: is_out() from now on */
        Heard,  /* it had, and the peer is heard */
        Over    /* it had, and nothing waits any more */
    };

    /** To be called every few milliseconds while something waits, or is_out().
     *  @param waits something that was sent is not acknowledged
     *  @param heard when the last came from the peer; not in the future */
    Change look(bool waits, Nanos heard, Nanos now) noexcept
    {
        const Nanos passed = now - now_;
        Nanos       step   = std::clamp(passed, Nanos(), kMostStep);
        now_               = now;
        if (!out_ && (quiet_ == Nanos() || passed > kIdle)) {
            quiet_ = Nanos();
            step   = std::min(step, kFirstStep);
            since_ = now - step; /* nothing was looked at before */
        }
        if (heard > std::max(heard_, since_) + kTick) {
            heard_ = heard;
            return stop(now, Change::Heard);
        }
        if (waits) {
            quiet_ += step;
            idle_ = Nanos();
            if (out_ || quiet_ < kPatience) {
                return Change::None;
            }
            out_ = true;
            return Change::Begins;
        }
        idle_ += step;
        return !out_ || idle_ >= kIdle ? stop(now, Change::Over) : Change::None;
    }

    bool is_out() const noexcept { return out_; }
    /** Since when it waits. */
    Nanos since() const noexcept { return since_; }

private:
    Change stop(Nanos now, Change change) noexcept
    {
        const bool was = out_;
        out_           = false;
        since_         = now;
        quiet_ = idle_ = Nanos();
        return was ? change : Change::None;
    }

    Nanos heard_;        /* the last that counted */
    Nanos since_;        /* it waits, and nothing is heard; */
    Nanos quiet_, idle_; /* what counts of that, and since nothing waits */
    Nanos now_;          /* of the last look */
    bool  out_ = false;
};

} // namespace fuselink::sched

#endif
