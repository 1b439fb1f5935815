/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "window.h"

namespace fuselink::sched {
namespace {

/* While the rate is a guess: enough to fill 10 Gbit/s at 100 us round trip,
 * and drained within about 20 ms by a path of 50 Mbit/s. */
constexpr Bytes guess_window = Bytes::kib(128);

/* @a rate: the meter's, at this moment. */
Bytes window_of(const RateMeter &meter, Rate rate, const Limits &limits) noexcept
{
    return meter.known() ?
                   meter.widened(window_for(rate, limits, meter.overhead())) :
                   guess_window;
}

} // namespace

Bytes window_for(const RateMeter &meter, Nanos now,
                 const Limits &limits) noexcept
{
    return window_of(meter, meter.rate(now), limits);
}

PathView view_of(const RateMeter &meter, Nanos now, const Limits &limits,
                 bool open) noexcept
{
    const Rate rate = meter.rate(now);
    return PathView{.rate = rate,
                    .overhead = meter.overhead(),
                    .in_flight = meter.in_flight(),
                    .window = window_of(meter, rate, limits),
                    .open = open,
                    .drained = meter.drained(now),
                    .probe = meter.wants_probe(now)};
}

} // namespace fuselink::sched
