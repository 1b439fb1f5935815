/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_UCS_EXT_PROCESSES_H
#define FUSELINK_UCS_EXT_PROCESSES_H

#include "process.h"

namespace fuselink {

/**
 * The processes of a node, as one of them sees them. What is shared between
 * processes asks here who it is and who is gone, so that one program can have
 * several that are not real. Thread-safe.
 */
class Processes {
public:
    virtual ProcessId       self() = 0;
    /* As those of ProcessId, which see there. */
    virtual ProcessId::Life life(ProcessId id) = 0;
    virtual bool            may_run(ProcessId id) = 0;
    virtual bool            in_own_space(ProcessId id) = 0;

    /** As the kernel has them. */
    static Processes &real();

protected:
    ~Processes() = default;
};

} // namespace fuselink

#endif
