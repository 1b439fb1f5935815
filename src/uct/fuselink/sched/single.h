/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_SCHED_SINGLE_H
#define FUSELINK_SCHED_SINGLE_H

#include "policy.h"

namespace fuselink::sched {

/**
 * Everything on the transfer's home path, the control against which the others
 * are measured. A home beyond the span wraps around. Chunks are as large as
 * max_chunk and a quarter of the window allow.
 */
class Single final : public Policy {
public:
    Choice next(std::span<const PathView> paths, Demand &demand,
                const Limits &limits) const noexcept override;
    const char *name() const noexcept override;
};

} // namespace fuselink::sched

#endif
