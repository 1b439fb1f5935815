/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_SCHED_STRIPE_H
#define FUSELINK_SCHED_STRIPE_H

#include "policy.h"

namespace fuselink::sched {

/**
 * What UCX's multi-rail protocols do: shares in proportion to fixed weights,
 * taken in turn, whatever the load.
 *
 * PathView::rate carries the weight, so the caller passes reported rates, not
 * measured ones, and does not change them during a transfer. The transfer is
 * cut into as few equal rounds as keep every path's piece within max_chunk and
 * a quarter of its window; in a round each path gets its piece, in the order
 * of the span. Pieces are not made smaller than min_chunk. Paths of weight 0
 * get nothing, unless all have weight 0: then all weigh the same. When the
 * path whose turn it is cannot take its piece, the transfer waits for it.
 */
class Stripe final : public Policy {
public:
    Choice next(std::span<const PathView> paths, Demand &demand,
                const Limits &limits) const noexcept override;
    const char *name() const noexcept override;
};

} // namespace fuselink::sched

#endif
