/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TRANSFER_CLOCK_H
#define FUSELINK_TRANSFER_CLOCK_H

#include "../sched/units.h"
#include "../ucx.h"

namespace fuselink {

/** The time that sched is told; any origin. */
inline sched::Nanos now_ns()
{
    return sched::Nanos(static_cast<int64_t>(
        ucs_time_to_nsec(ucs_get_time())));
}

} // namespace fuselink

#endif
