/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_RELAY_COPY_PACE_H
#define FUSELINK_RELAY_COPY_PACE_H

#include "../fifo.h"
#include "../sched/rate_meter.h"
#include "../sched/units.h"

#include <algorithm>

namespace fuselink {

/**
 * When to look at copies that are under way on a GPU's link, each way of which ends them in
 * the order in which they began. Nothing tells of the end of one, and a look takes processor
 * time that a program may want. So whoever looks sleeps until shortly before the next copy
 * should be over by the speed that was measured, and does nothing but look then: on a link
 * of 25 GB/s, where a piece takes 10 us, all the time, and where it takes 80 ms, for 50 us
 * of those. What is late for longer is looked at less and less often.
 *
 * Reads no clock. One thread at a time.
 */
class CopyPace {
public:
    /** Sleep ends late by about so much, and pays only if it is longer. */
    static constexpr sched::Nanos kSpin = sched::Nanos::micros(50);
    /** The longest sleep while something is under way that is late. */
    static constexpr sched::Nanos kMost = sched::Nanos::millis(1);

    /** A copy has begun, out of the GPU or into it. */
    void begun(bool out, size_t length, sched::Nanos now)
    {
        Way &way = ways_[out];
        if (way.open.empty()) {
            way.since = now;
        }
        way.open.push_back(sched::Bytes(length));
        way.meter.on_post(now, sched::Bytes(length));
    }

    /** The oldest of that way is over, well or not. */
    void ended(bool out, bool well, sched::Nanos now)
    {
        Way &way = ways_[out];
        if (way.open.empty()) {
            return;
        }
        const sched::Bytes length = way.open.front();
        way.open.pop_front();
        if (well) {
            way.meter.on_complete(now, length);
        } else {
            way.meter.on_abandon(now, length);
        }
        way.since = now;
        took_     = well ? length / way.meter.rate() : sched::Nanos();
    }

    /** When to look next, after a look at `now` at which nothing was over: `now` itself if
     *  at once. `now` as well if nothing is under way. */
    sched::Nanos next_look(sched::Nanos now) const
    {
        sched::Nanos next = sched::Nanos::max();
        for (const Way &way : ways_) {
            if (!way.open.empty()) {
                next = std::min(next, next_look(way, now));
            }
        }
        return next == sched::Nanos::max() ? now : next;
    }

    /** Behind the last copy: until then another is likely, and it is cheaper to look for
     *  it than to be woken. As long as a copy takes, if that is no longer than a sleep. */
    sched::Nanos lingers_until() const
    {
        const sched::Nanos last = std::max(ways_[0].since, ways_[1].since);
        return took_ <= kSpin ? last + took_ : last;
    }

private:
    struct Way {
        /* Nobody knows: each copy is looked for all the time until some are over. */
        sched::RateMeter   meter{sched::Rate(100e9)};
        Fifo<sched::Bytes> open;
        sched::Nanos       since; /* the link has been at the oldest */
    };

    static sched::Nanos next_look(const Way &way, sched::Nanos now)
    {
        const sched::Nanos due = way.since + way.open.front() / way.meter.rate();
        if (now + kSpin < due) {
            return due - kSpin;
        }
        const sched::Nanos late = now - due;
        return late < kSpin ? now : now + std::clamp(late / 4, kSpin, kMost);
    }

    Way          ways_[2]; /* in, out */
    sched::Nanos took_;    /* the last copy */
};

} // namespace fuselink

#endif
