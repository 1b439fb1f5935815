/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TOOLS_INFO_DRY_RUN_H
#define FUSELINK_TOOLS_INFO_DRY_RUN_H

#include "uct/fuselink/sched/policy.h"

#include <cstdint>
#include <vector>

namespace fuselink::info {

/** A path of a dry run. */
struct Stage {
    sched::Rate  rate; /* reported, and true here */
    sched::Nanos overhead;
};

/**
 * Plays a transfer through, without sending anything: the transport's own
 * policy, meters and windows under a virtual clock, over idle paths that carry
 * exactly what they promise.
 *
 * @param fixed_weights as EngineSettings has it
 * @return bytes by path; their sum is `size`, unless there is no path
 */
std::vector<uint64_t> dry_run(const sched::Policy &policy,
                               const sched::Limits &limits,
                               const std::vector<Stage> &paths, uint64_t size,
                               bool fixed_weights);

} // namespace fuselink::info

#endif
