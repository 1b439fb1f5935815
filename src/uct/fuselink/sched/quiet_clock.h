/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_SCHED_QUIET_CLOCK_H
#define FUSELINK_SCHED_QUIET_CLOCK_H

#include "stall_clock.h"
#include "units.h"

#include <algorithm>
#include <cstdint>

namespace fuselink::sched {

/** What is known now of one queue pair that has something under way, as instants of
 *  one clock; 0: never. */
struct QuietView {
    Nanos now;
    Nanos since; /* the last of its work has ended, or the first began */
    Nanos limit; /* QuietClock::limit() */
    /* Another wire to the same peer, and another connection of this wire, has been
     * acknowledged, at the latest. */
    Nanos peer_heard_at, wire_heard_at;
    /* It may be that the NIC has no room for what was sent, as the peer's program
     * does not look; that program has answered something. */
    bool  may_wait = false;
    Nanos program_at;
};

/**
 * Decides whether the wire of a queue pair still carries, before its NIC gives up.
 *
 * A reliable NIC acknowledges what comes whatever its program does, but says so here
 * for whole pieces of work only, and sends again what was lost after a time that it is
 * told (Rail::retry_time()). A wire is silent when all of these hold:
 *
 * - Nothing has ended for so long that the NIC has sent again four times, or once at
 *   least: InfiniBand lets it take up to four times as long as it is told. And for four
 *   times as long as what is under way takes by the speed of before. It was watched: an
 *   observation counts for 8 ms at most (StallClock).
 * - On this wire nothing else was acknowledged for as long.
 * - Something was lately, over another wire to the same peer: that is there. Lately is the
 *   second half of that time, or the last half of it if it has gone on.
 * - Messages are under way that the other NIC may have no room for, and the peer's
 *   program has answered something else lately: it looks. Puts need no program.
 *
 * Reads no clock, allocates nothing.
 */
class QuietClock {
public:
    using Health = StallClock::Health;

    /** `under_way` at `rate`, which may be unknown: 0. */
    static Nanos limit(Nanos retry_time, Bytes under_way, Rate rate) noexcept
    {
        const Nanos retries = retry_time * 9 / 2;
        if (under_way.is_zero()) {
            return retries;
        }
        return rate.is_zero() ?
                   kMost :
                   std::max(retries, std::min(under_way / rate * 4, kMost));
    }

    /** To be called every few milliseconds while something is under way, by a new
     *  object when anything has ended. Suspect: others should be asked for an
     *  acknowledgement, and so should this one. */
    Health look(const QuietView &view) noexcept
    {
        const Nanos step = std::clamp(view.now - last_look_, Nanos(),
                                      StallClock::kMostStep);
        const Nanos heard = std::max(view.since, view.wire_heard_at);
        last_look_        = view.now;
        silence_          = std::min(silence_ + step, view.now - heard);
        if (silence_ < view.limit / 2) {
            return Health::Fine;
        }
        const Nanos lately = std::max(view.since, view.now - view.limit) +
                             view.limit / 2;
        return silence_ >= view.limit && view.peer_heard_at >= lately &&
                       (!view.may_wait || view.program_at >= lately) ?
                   Health::Dead : Health::Suspect;
    }

private:
    /* A rate that was measured when nearly nothing went says little. */
    static constexpr Nanos kMost = Nanos::millis(4000);

    Nanos last_look_, silence_;
};

} // namespace fuselink::sched

#endif
