/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_SCHED_SLACK_H
#define FUSELINK_SCHED_SLACK_H

#include "units.h"

#include <algorithm>

namespace fuselink::sched {

/**
 * How much longer than usual one process waits before silence counts.
 *
 * A wire that carries again when it is tried for the first time may never have been silent:
 * hosts with too few processors, or queues that nobody has met before, keep acknowledgements
 * back for some ten milliseconds as well. Whoever was wrong waits for longer from then on,
 * twice as long each time, and for half as long after each half minute in which he was not.
 *
 * Reads no clock, allocates nothing.
 */
class Slack {
public:
    static constexpr Nanos kFirst = Nanos::millis(30);
    static constexpr Nanos kMost  = Nanos::millis(120);
    static constexpr Nanos kHalf  = Nanos::seconds(30);
    /** The first try, and what connecting may take on full processors. */
    static constexpr Nanos kFirstTry = Nanos::millis(900);

    /** A wire is heard again that was held to be silent `since` then. */
    void note_back(Nanos since, Nanos now) noexcept
    {
        if (now - since > kFirstTry || (most_ != Nanos() && now - since_ < kFirstTry)) {
            return; /* or it is one of several that were left for the same reason */
        }
        const Nanos had = at(now);
        most_  = had == Nanos() ? kFirst : std::min(had * 2, kMost);
        since_ = now;
    }

    Nanos at(Nanos now) const noexcept
    {
        if (most_ == Nanos()) [[likely]] {
            return most_;
        }
        const int64_t halves = std::max(now - since_, Nanos()).count() / kHalf.count();
        const Nanos   left   = halves < 8 ? most_ / (int64_t{1} << halves) : Nanos();
        return left < kLeast ? Nanos() : left;
    }

private:
    static constexpr Nanos kLeast = Nanos::millis(10);

    Nanos most_, since_;
};

} // namespace fuselink::sched

#endif
