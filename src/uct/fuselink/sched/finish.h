/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_SCHED_FINISH_H
#define FUSELINK_SCHED_FINISH_H

#include "policy.h"

namespace fuselink::sched {

/**
 * Earliest finish time: every chunk goes where it is done first, and the last
 * chunks of all paths are done at the same moment.
 *
 * A path p, with what is in flight on it and what others have queued ahead,
 * is done with c further bytes at
 *
 *     T_p(c) = overhead_p + (in_flight_p - drained_p + ahead_p + c) / rate_p
 *
 * so until a time T it has room for rate_p * T - base_p bytes, where base_p is
 * rate_p * overhead_p + in_flight_p - drained_p + ahead_p. The work is what remains of
 * the transfer and the backlog behind it; poured over all paths, full and
 * closed ones included, it reaches one level T at which every path ends. The
 * part below the level is the path's share, and it rules the whole decision:
 *
 * - A path with room gets its share, at most one quantum (the bytes it carries
 *   in chunk_time) at once. While there is much work every share is larger
 *   than a quantum and no path with room is left without one.
 * - A path which is busy until the level has no share: what is left is done
 *   earlier by waiting for others.
 * - A share below min_chunk is not worth a chunk. Such a path is left out and
 *   the others take its share, unless even a whole smallest chunk on it ends
 *   earlier than that.
 * - When every path with a share is full or closed, the answer is to wait.
 *   Paths count for waiting only while something is in flight on them, since
 *   only that will wake the caller.
 * - A path whose NIC is taken (PathView::Standing) is neither used nor waited
 *   for, unless all are.
 * - The last quanta of a path are not given to it while it has plenty to do:
 *   what is decided later is decided with better knowledge.
 *
 * Of several paths with room the one that finishes its chunk first is taken,
 * with a small preference for the transfer's home. An idle path whose rate is
 * a guess (PathView::probe) and that the guess denies a chunk gets a smallest
 * one when there is much to send or on its way, or a wrong guess would never be
 * corrected.
 *
 * The finish-time metric, bytes in flight over measured bandwidth, is that of
 * Mooncake's TENT (arXiv 2604.00368); choosing by load instead of by fixed
 * shares is FuseLink's idea (OSDI'25). Water-filling is the classical solution
 * of dividing work over unequal machines that become free at different times.
 */
class Finish final : public Policy {
public:
    Choice next(std::span<const PathView> paths, Demand &demand,
                const Limits &limits) const noexcept override;
    const char *name() const noexcept override;
};

} // namespace fuselink::sched

#endif
