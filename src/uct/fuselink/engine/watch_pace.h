/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_ENGINE_WATCH_PACE_H
#define FUSELINK_ENGINE_WATCH_PACE_H

#include "../sched/units.h"

#include <algorithm>

namespace fuselink {

/**
 * After how many calls of progress the clock is looked at: rarely by a program that does
 * nothing else, and at each call by one that computes and calls now and then, or NICs that
 * fall silent would be found by the number of its calls, and not in time.
 *
 * Reads no clock. One thread at a time (the worker's).
 */
class WatchPace {
public:
    /** Of calls that find something. Those that do not have time, and count for several. */
    static constexpr unsigned kMostCalls = 128, kIdle = 8;
    /** Looks are about as far apart, or there are no calls in between. */
    static constexpr sched::Nanos kNear = sched::Nanos::micros(500);

    /** Progress is called, and has found something or nothing. True: look at the clock. */
    bool call(bool found) noexcept
    {
        calls_ += found ? 1 : kIdle;
        return calls_ >= most_;
    }
    /** It is looked at. */
    void looked(sched::Nanos now) noexcept
    {
        const sched::Nanos since = now - looked_;
        looked_ = now;
        calls_  = 0;
        most_   = since > kNear ? 1 : std::min(most_ * 2, kMostCalls);
    }
    /** At the next call. */
    void look_next() noexcept { calls_ = kMostCalls; }

private:
    unsigned     calls_ = 0, most_ = kMostCalls;
    sched::Nanos looked_; /* last */
};

} // namespace fuselink

#endif
