/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_UCS_EXT_PROCESS_BARRIER_H
#define FUSELINK_UCS_EXT_PROCESS_BARRIER_H

namespace fuselink {

/**
 * A memory barrier in all threads of the process, at the expense of who asks for it: two
 * threads that each write and then read what the other writes need one each, and the one
 * that does so often can do without if the other has this one. A system call, a microsecond,
 * and an interrupt to each CPU on which the process runs (Linux: membarrier(2)).
 */
class ProcessBarrier {
public:
    /** Before the first one. False if the kernel has none: then each thread needs its own.
     *  Thread-safe. */
    static bool prepare();
    /** False if it was none, though it was prepared: nothing may rely on it. */
    static bool pass();
};

} // namespace fuselink

#endif
