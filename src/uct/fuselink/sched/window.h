/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_SCHED_WINDOW_H
#define FUSELINK_SCHED_WINDOW_H

#include "chunk.h"
#include "policy.h"
#include "rate_meter.h"
#include "units.h"

#include <algorithm>

namespace fuselink::sched {

/* Below this even an idle kernel socket is not kept busy. */
inline constexpr Bytes smallest_window = Bytes::kib(64);

/* No path needs more: at 400 Gbit/s it is over a millisecond's worth. */
inline constexpr Bytes largest_window = Bytes::mib(64);

/** The chunk that keeps a path of @a rate busy for limits.chunk_time, within
 *  [min_chunk, max_chunk]. */
constexpr Bytes quantum_for(Rate rate, const Limits &limits) noexcept
{
    const Bytes most = std::max(limits.min_chunk, limits.max_chunk);
    return std::clamp(rate * limits.chunk_time, limits.min_chunk, most);
}

/**
 * How many bytes may be in flight on a path of @a rate whose acknowledgement
 * takes @a overhead beyond the bytes' own time.
 */
constexpr Bytes window_for(Rate rate, const Limits &limits,
                           Nanos overhead = Nanos()) noexcept
{
    Bytes window = quantum_for(rate, limits) * chunks_per_window;
    if (overhead != Nanos()) {
        window += rate * overhead;
    }
    return std::clamp(window, smallest_window, largest_window);
}

/** Half a batch is in flight on another's NIC, of all who borrow it (1 at least), and the
 *  chunk included that may go beyond the window, a quarter of which it is. Its owner, when he
 *  comes back, shares the NIC's queue with that, and has the NIC for himself before he has
 *  sent a batch. */
constexpr Bytes lent_window(Rate rate, uint32_t borrowers, const Limits &limits) noexcept
{
    static_assert(chunks_per_window == 4);
    return std::max(quantum_for(rate, limits) * 2 / 5 / borrowers, limits.min_chunk);
}

/** window_for() of a path whose rate is being learnt: by the estimate at @a now,
 *  and small until something is measured, so that a wrong prior can do little
 *  harm. */
Bytes window_for(const RateMeter &meter, Nanos now,
                 const Limits &limits) noexcept;

/** All of a PathView that a meter knows: rate, overhead, in_flight, window,
 *  drained, probe. */
PathView view_of(const RateMeter &meter, Nanos now, const Limits &limits,
                 bool open = true) noexcept;

} // namespace fuselink::sched

#endif
