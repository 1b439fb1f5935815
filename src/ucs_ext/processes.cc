/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "processes.h"

namespace fuselink {
namespace {

class RealProcesses final : public Processes {
public:
    ProcessId       self() override { return ProcessId::self(); }
    ProcessId::Life life(ProcessId id) override { return id.life(); }
    bool may_run(ProcessId id) override { return id.may_run(); }
    bool in_own_space(ProcessId id) override { return id.in_own_space(); }
};

} // namespace

Processes &Processes::real()
{
    static RealProcesses real; /* nothing to destroy: there until the end */
    return real;
}

} // namespace fuselink
