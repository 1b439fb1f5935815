/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_UNIT_SCHED_STALL_WIRE_H
#define FUSELINK_TEST_UNIT_SCHED_STALL_WIRE_H

#include "sched/stall_clock.h"

#include <algorithm>
#include <cstdint>
#include <random>

namespace fuselink::sched {

using Health = StallClock::Health;

constexpr Nanos ms(int64_t n)
{
    return Nanos::millis(n);
}

/* Whole numbers from 0 to n - 1, the same in each run. */
class Chance {
public:
    explicit Chance(uint64_t seed) : random_(seed) {}
    int64_t operator()(int64_t n)
    {
        return static_cast<int64_t>(random_() % static_cast<uint64_t>(n));
    }

private:
    std::mt19937_64 random_;
};

/* A connection under traffic, of which a test says what happens. Its instants waver
 * as a kernel's do, where it says so. */
class Wire {
public:
    explicit Wire(Nanos tick = Nanos(1)) : tick_(tick)
    {
        view.now = Nanos::seconds(100);
        view.rtt = Nanos::micros(200);
        view.rtt_deviation = Nanos::micros(50);
        view.much = true;
        acked = sent = view.now;
    }

    /* Instants as the kernel tells them: ago, in whole ticks. */
    Health look()
    {
        view.acked_at = view.now - ago(acked);
        view.sent_at  = view.now - ago(sent);
        if (program_runs) {
            view.program_at = view.peer_done_at;
        }
        return clock.look(view);
    }

    /* Looks every `every` for `time`, with what goes on; the first time that it is
     * Dead, or max(). */
    template <typename Each> Nanos pass(Nanos time, Nanos every, Each &&each)
    {
        const Nanos end = view.now + time;
        while (view.now < end) {
            view.now += every;
            each();
            worst = std::max(worst, look());
            if (worst == Health::Dead) {
                return view.now;
            }
        }
        return Nanos::max();
    }

    StallView  view;
    StallClock clock;
    Nanos      acked, sent; /* as they were */
    Health     worst = Health::Fine;
    bool       program_runs = true; /* at the other end: all is done by it */

private:
    Nanos ago(Nanos then) const
    {
        return Nanos((view.now - then).count() / tick_.count() * tick_.count());
    }

    const Nanos tick_;
};

} // namespace fuselink::sched

#endif
