/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_SCHED_WINDOW_H
#define FUSELINK_SCHED_WINDOW_H

#include "policy.h"
#include "rate_meter.h"
#include "units.h"

namespace fuselink::sched {

/** The chunk that keeps a path of @a rate busy for limits.chunk_time, within
 *  [min_chunk, max_chunk]. */
Bytes quantum_for(Rate rate, const Limits &limits) noexcept;

/**
 * How many bytes may be in flight on a path of @a rate whose acknowledgement
 * takes @a overhead beyond the bytes' own time.
 */
Bytes window_for(Rate rate, const Limits &limits,
                 Nanos overhead = Nanos()) noexcept;

/** The same for a path whose rate is being learnt: by the estimate at @a now,
 *  and small until something is measured, so that a wrong prior can do little
 *  harm. */
Bytes window_for(const RateMeter &meter, Nanos now,
                 const Limits &limits) noexcept;

/** What each of @a sharers (not 0) paths that are busy on the same NIC may have
 *  in flight, together no more than the NIC by itself: @a nic has met the bytes
 *  of all of them. Otherwise many peers at once overflow what lies behind the
 *  NIC (a queue, a switch), and what is lost there costs far more time than
 *  what is kept back. */
Bytes window_share(const RateMeter &nic, Nanos now, const Limits &limits,
                   uint32_t sharers) noexcept;

/** All of a PathView that a meter knows: rate, overhead, in_flight, window,
 *  drained, probe. */
PathView view_of(const RateMeter &meter, Nanos now, const Limits &limits,
                 bool open = true) noexcept;

} // namespace fuselink::sched

#endif
