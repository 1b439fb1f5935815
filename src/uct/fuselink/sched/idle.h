/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_SCHED_IDLE_H
#define FUSELINK_SCHED_IDLE_H

#include "policy.h"

namespace fuselink::sched {

/**
 * FuseLink's rule (OSDI'25): the direct NIC if it is idle, else an idle
 * indirect one, else the direct one.
 *
 * Direct are the paths of this process's own NICs, or the transfer's home if
 * it owns none. A chunk goes
 *
 * 1. to a direct path with nothing in flight and nothing of others ahead;
 * 2. else to an indirect one with nothing of others ahead, free or lent, that
 *    has the least of ours to do;
 * 3. else to the path that is done with it first, of those with room: direct ones, and
 *    free ones with bytes of others ahead;
 * 4. else it waits; where nothing is in flight that would wake the transfer,
 *    any other path has to do.
 *
 * Each decision is one batch: it looks at all standings anew. On a lent path
 * less than one batch, the bytes that the path carries in chunk_time, is in
 * flight, in two pieces so that it does not fall idle between them. So when the
 * owner comes back he waits for no more than that, however large the window.
 *
 * Rates decide nothing but sizes: that is what the rule is, and why it is as
 * fast as its slowest idle path at the end of a transfer over unequal NICs.
 */
class Idle final : public Policy {
public:
    Choice next(std::span<const PathView> paths, Demand &demand,
                const Limits &limits) const noexcept override;
    const char *name() const noexcept override;
};

} // namespace fuselink::sched

#endif
