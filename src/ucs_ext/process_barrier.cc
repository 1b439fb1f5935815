/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "process_barrier.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace fuselink {
namespace {

long membarrier(int command)
{
    return syscall(SYS_membarrier, command, 0, 0);
}

} // namespace

bool ProcessBarrier::prepare()
{
    return membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
}

bool ProcessBarrier::pass()
{
    return membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0;
}

} // namespace fuselink
