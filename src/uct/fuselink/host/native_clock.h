/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_HOST_NATIVE_CLOCK_H
#define FUSELINK_HOST_NATIVE_CLOCK_H

#include "../../../ucs_ext/board.h"
#include "../sched/units.h"

namespace fuselink {

/** The machine's clock: Host::now() of a process that is one. For nothing but
 *  host/, and what belongs to the program as a whole. */
inline sched::Nanos native_now()
{
    return sched::Nanos(Board::now());
}

} // namespace fuselink

#endif
