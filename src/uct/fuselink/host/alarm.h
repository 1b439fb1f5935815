/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_HOST_ALARM_H
#define FUSELINK_HOST_ALARM_H

#include "../sched/units.h"

namespace fuselink {

/** Wakes a program that sleeps, after a time. One thread at a time. */
class Alarm {
public:
    virtual ~Alarm() = default;

    /** Readable when the time is over; to be waited for, and not to be read. */
    virtual int fd() const = 0;
    /** Rings once after `time` from now, and not at a time that was set before; 0:
     *  does not ring. Then fd() is not readable until it does. A system call. */
    virtual void set(sched::Nanos time) = 0;
};

} // namespace fuselink

#endif
