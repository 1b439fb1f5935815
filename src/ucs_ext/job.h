/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_UCS_EXT_JOB_H
#define FUSELINK_UCS_EXT_JOB_H

#include <cstdint>

namespace fuselink {

/**
 * A number that the processes of one job on this node share, and those of
 * another most likely do not: from what the launcher or the batch system left
 * in the environment, else from the session (everything started from one
 * terminal). Never 0.
 */
uint64_t job_number();

} // namespace fuselink

#endif
