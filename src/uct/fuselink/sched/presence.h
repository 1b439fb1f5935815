/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_SCHED_PRESENCE_H
#define FUSELINK_SCHED_PRESENCE_H

#include "units.h"

#include <algorithm>
#include <cstdint>

namespace fuselink::sched {

/**
 * Whether a program calls, as a thread beside it sees that looks now and then, and when it
 * is to look again.
 *
 * Looks are wakings, and where processors are full those cost others: on Linux 6.18 other
 * sessions wait for seconds if threads look more often than each 6 ms, as measured. It seems
 * that a session is weighed anew when a thread of it sleeps or wakes, and that what it owes to
 * others is written off then in part. A program that was hardly ever away is looked at every
 * 8 ms, therefore.
 *
 * One that computes for less than that at a time, and calls in between, is held to be there:
 * kernels have enough for a few milliseconds.
 *
 * Reads no clock, allocates nothing.
 */
class Presence {
public:
    explicit Presence(Nanos now) : looked_(now), called_(now), moved_(now) {}

    /** A look at how many calls it has made ever. True if those are more than at the look
     *  before. */
    bool note_calls(Nanos now, uint64_t calls) noexcept
    {
        const bool called = calls != calls_;
        if (called) {
            calls_  = calls;
            called_ = now;
        }
        const bool   away = !is_there(now);
        const double part = (now - looked_).as_seconds() / kMemory.as_seconds();
        away_  += std::min(part, 1.0) * (away - away_);
        looked_ = now;
        if (called && helped_) {
            helped_       = false;
            helped_at_[1] = helped_at_[0];
            helped_at_[0] = now;
        }
        return called;
    }
    /** How much has happened in its calls. */
    void note_events(Nanos now, uint64_t events) noexcept
    {
        if (events != events_) {
            events_ = events;
            moved_  = now;
        }
    }
    /** Something was done for it while it was away. */
    void note_help(Nanos now) noexcept
    {
        helped_ = true;
        moved_  = now;
    }

    /** It has called not long ago. */
    bool is_there(Nanos now) const noexcept
    {
        return now - called_ < (shares(now) ? kAwaySoon : kAway);
    }
    /** Until the next look at one that is there. */
    Nanos tick(Nanos now) const noexcept
    {
        if (now - moved_ >= kLately) {
            return idle(now);
        }
        return shares(now) ? kAwaySoon : away_ > kHardly ? kTick : kTickPresent;
    }
    /** Until the next look if there was nothing to do. */
    Nanos idle(Nanos now) const noexcept
    {
        return now - moved_ < kLong ? kTickIdle : kTickRare;
    }

    /* One that has not called for so long is away. One that polls calls more often by a
     * factor of 100, also where it shares its processor with few others. */
    static constexpr Nanos kAway = Nanos::millis(2);
    /* One that is away for more than a part of the time, twice in so long, and comes back,
     * waits for its turn on a processor: it is looked at more often, so that its NICs do not
     * stand still for most of that. */
    static constexpr Nanos  kShares   = Nanos::millis(50);
    static constexpr double kOften    = 0.25;
    static constexpr Nanos  kAwaySoon = Nanos::micros(500);
    /* Between looks at a program that calls: while it moves data and was away now and then,
     * or not, while it moves none, and when it has moved none for long. */
    static constexpr double kHardly      = 0.05;
    static constexpr Nanos  kTick        = Nanos::millis(2);
    static constexpr Nanos  kTickPresent = Nanos::millis(8);
    static constexpr Nanos  kTickIdle    = Nanos::millis(8);
    static constexpr Nanos  kTickRare    = Nanos::millis(32);
    /* It moves data if it has in this time. */
    static constexpr Nanos kLately = Nanos::millis(100);
    static constexpr Nanos kLong   = Nanos::millis(1000);
    /* Over which it is reckoned how much it is away. */
    static constexpr Nanos kMemory = Nanos::millis(100);

private:
    bool shares(Nanos now) const noexcept
    {
        return now - helped_at_[1] < kShares && away_ > kOften;
    }

    uint64_t calls_ = 0, events_ = 0;
    Nanos    looked_, called_, moved_;
    Nanos    helped_at_[2]; /* it came back, and something had been done for it */
    bool     helped_ = false;
    double   away_   = 0;   /* of the time; 0 to 1 */
};

} // namespace fuselink::sched

#endif
