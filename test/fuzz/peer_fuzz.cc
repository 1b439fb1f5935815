/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
/* Messages of a hostile peer, of all types, into the transport itself on simulated
 * wires. The input is a script: see sim/hostile/session.h. */

#include "sim/hostile/session.h"

#include <cstdio>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const auto violations = fuselink::sim::hostile_session(data, size);
    for (const auto &violation : violations) {
        fprintf(stderr, "%s\n", violation.c_str());
    }
    if (!violations.empty()) {
        abort();
    }
    return 0;
}
