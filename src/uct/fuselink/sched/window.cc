/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "window.h"

#include "chunk.h"

namespace fuselink::sched {
namespace {

/* Below this even an idle kernel socket is not kept busy. */
constexpr Bytes smallest_window = Bytes::kib(64);

/* No path needs more: at 400 Gbit/s it is over a millisecond's worth. */
constexpr Bytes largest_window = Bytes::mib(64);

/* While the rate is a guess: enough to fill 10 Gbit/s at 100 us round trip,
 * and drained within about 20 ms by a path of 50 Mbit/s. */
constexpr Bytes guess_window = Bytes::kib(128);

} // namespace

Bytes quantum_for(Rate rate, const Limits &limits) noexcept
{
    const Bytes most = std::max(limits.min_chunk, limits.max_chunk);
    return std::clamp(rate * limits.chunk_time, limits.min_chunk, most);
}

Bytes window_for(Rate rate, const Limits &limits, Nanos overhead) noexcept
{
    const Bytes chunks = quantum_for(rate, limits) * chunks_per_window;
    const Bytes latency = rate * overhead;
    return std::clamp(chunks + latency, smallest_window, largest_window);
}

Bytes window_for(const RateMeter &meter, Nanos now,
                 const Limits &limits) noexcept
{
    if (!meter.known()) {
        return guess_window;
    }
    return window_for(meter.rate(now), limits, meter.overhead());
}

Bytes window_share(const RateMeter &nic, Nanos now, const Limits &limits,
                   uint32_t sharers) noexcept
{
    return window_for(nic, now, limits) / sharers;
}

PathView view_of(const RateMeter &meter, Nanos now, const Limits &limits,
                 bool open) noexcept
{
    return PathView{.rate = meter.rate(now),
                    .overhead = meter.overhead(),
                    .in_flight = meter.in_flight(),
                    .window = window_for(meter, now, limits),
                    .open = open,
                    .drained = meter.drained(now),
                    .probe = meter.wants_probe(now)};
}

} // namespace fuselink::sched
