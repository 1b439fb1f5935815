/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "descriptor_limit.h"

#include "../ucx.h"

#include <algorithm>
#include <sys/resource.h>

namespace fuselink {

void raise_descriptor_limit()
{
    rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return;
    }
    const rlim_t most = std::min<rlim_t>(limit.rlim_max, kMostDescriptors);
    if (limit.rlim_cur >= most) {
        return;
    }
    const rlim_t before = limit.rlim_cur;
    limit.rlim_cur      = most;
    if (setrlimit(RLIMIT_NOFILE, &limit) == 0) {
        ucs_debug("fuselink: up to %lu descriptors, before %lu", most, before);
    } else {
        ucs_debug("fuselink: no more than %lu descriptors: %m", before);
    }
}

} // namespace fuselink
