/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_SCHED_AUTO_H
#define FUSELINK_SCHED_AUTO_H

#include "policy.h"

namespace fuselink::sched {

/**
 * The best of the others for the transfer at hand. How it decides:
 *
 * - A transfer that is part of a plan follows `plan`. The caller makes plans
 *   where many transfers are posted at once and load is uneven; where it makes
 *   none, because traffic is small or balanced, this costs the one branch that
 *   finds Demand::planned false.
 * - All else is `finish`. It has the owner-first rule of `idle`, as it leaves
 *   taken NICs alone and counts what is ahead on the others, but weighs what
 *   `idle` only tells apart: a NIC that is almost idle, a slow one, the end of
 *   a transfer.
 *
 * The tests compare it with all others on equal, unequal, shared and returning
 * NICs: it is within 5 % of the best of them, with one exception. `stripe` does
 * not care whose NICs it fills. Where they happen to come free soon it is ahead
 * by what `auto` has given to its own NIC by then, at most a window, which
 * shows in transfers that are not much longer than one.
 */
class Auto final : public Policy {
public:
    Choice next(std::span<const PathView> paths, Demand &demand,
                const Limits &limits) const noexcept override;
    const char *name() const noexcept override;
};

} // namespace fuselink::sched

#endif
