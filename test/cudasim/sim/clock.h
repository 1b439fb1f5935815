/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_CUDASIM_CLOCK_H
#define FUSELINK_CUDASIM_CLOCK_H

#include <cstdint>
#include <ctime>

namespace cudasim {

/** Nanoseconds, the same for all processes of a machine. */
inline uint64_t now_ns()
{
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1000000000 +
           static_cast<uint64_t>(now.tv_nsec);
}

} // namespace cudasim

#endif
