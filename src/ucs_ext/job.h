/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_UCS_EXT_JOB_H
#define FUSELINK_UCS_EXT_JOB_H

#include <cstdint>
#include <string>
#include <sys/types.h>

namespace fuselink {

/**
 * A number that the processes of one job on this node share, and those of
 * another most likely do not: from what the launcher or the batch system left
 * in the environment, else from the session (everything started from one
 * terminal). Never 0.
 */
uint64_t job_number();

/** What the launcher calls a process, for people; empty where it says
 *  nothing. */
struct JobPlace {
    std::string job;
    std::string rank;
};

/** Of this process. */
JobPlace own_job_place();

/** Of another one, from the environment it was started with: only of a process
 *  of user `owner`, and if this one may read it. */
JobPlace job_place(int32_t pid, uid_t owner);

} // namespace fuselink

#endif
