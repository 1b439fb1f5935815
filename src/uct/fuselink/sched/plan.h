/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_SCHED_PLAN_H
#define FUSELINK_SCHED_PLAN_H

#include "policy.h"

namespace fuselink::sched {

/**
 * Follows a plan over all transfers posted together (planner.h), where there
 * is one; without one it is `finish`.
 *
 * A transfer with a plan (Demand::planned) uses the paths on which the plan
 * wants bytes of it. Of those with room the one that finishes its chunk first
 * gets one quantum of its part. While all of them are full it waits, however
 * free other paths look: they are for somebody else, whom this transfer does
 * not see. That is all the difference to `finish`, which would take them.
 *
 * The plan is left, for `finish`, where it does not hold any more:
 *
 * - what it wants is less than half a smallest chunk, on every path;
 * - all paths it wants are taken, or closed with nothing in flight that would
 *   wake the transfer;
 * - the slowest part would take more than `patience` (plan.cc) times as long,
 *   against what all paths carry, as it promised to when the transfer was
 *   first seen: the path has become slow. So a plan out of date costs that
 *   factor at most.
 */
class Plan final : public Policy {
public:
    Choice next(std::span<const PathView> paths, Demand &demand,
                const Limits &limits) const noexcept override;
    const char *name() const noexcept override;
};

} // namespace fuselink::sched

#endif
