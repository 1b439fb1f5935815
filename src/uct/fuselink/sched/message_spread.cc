/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "message_spread.h"

namespace fuselink::sched {
namespace {

/* A speed is measured for so long: less says little of a kernel that sends 64 kB at once, more
 * little of now. */
constexpr Nanos kShortest = Nanos::millis(8);
constexpr Nanos kLongest  = Nanos::millis(40);
/* So much of what is new counts; and so much is forgotten of a speed that is not seen. */
constexpr double kNew       = 1.0 / 4;
constexpr double kForgotten = 1.0 / 16;

Rate between(Rate one, Rate other, double share)
{
    return one * (1 - share) + other * share;
}

} // namespace

void MessageSpread::measure(size_t wire, Rate seen) noexcept
{
    Wire &one = wires_[wire];
    if (one.busy && !seen.is_zero()) {
        one.rate = one.rate.is_zero() ? seen : between(one.rate, seen, kNew);
    } else if (wire == 0) {
        one.rate = std::max(between(one.rate, Rate(), kForgotten), seen);
    } else if (!one.rate.is_zero()) {
        one.rate = std::max(between(one.rate, wires_[0].rate, kForgotten), seen);
    }
}

void MessageSpread::look(size_t wire, Nanos now, Bytes acked, Bytes unacked) noexcept
{
    Wire       &one      = wires_[wire];
    const Nanos for_time = now - one.from;
    one.busy             = one.busy && !unacked.is_zero();
    if (for_time >= kShortest) {
        if (for_time <= kLongest) {
            measure(wire, (acked - one.acked) / for_time);
        }
        one.from  = now;
        one.acked = acked;
        one.busy  = !unacked.is_zero();
    }
    if (!unacked.is_zero()) {
        one.free_at = now + time(unacked, wire);
    } else {
        one.free_at = std::min(one.free_at, now);
    }
}

} // namespace fuselink::sched
