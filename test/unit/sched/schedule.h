/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_SCHED_SCHEDULE_H
#define FUSELINK_TEST_SCHED_SCHEDULE_H

#include "uct/fuselink/sched/policy.h"

#include <string>
#include <vector>

namespace fuselink::sched::test {

/**
 * What a policy does when asked until it waits or all is given, nothing
 * completing in between, as text: "0:65536 1:1000" or "0:65536 wait".
 */
inline std::string schedule(const char *policy, std::vector<PathView> paths,
                            Demand demand, const Limits &limits = {})
{
    std::string text;
    while (!demand.remaining.is_zero()) {
        const Choice c = find_policy(policy)->next(paths, demand, limits);
        text += text.empty() ? "" : " ";
        if (!c) {
            return text + "wait";
        }
        text += std::to_string(c.path) + ":" + std::to_string(c.length.count());
        paths[c.path].in_flight += c.length;
        demand.remaining -= c.length;
    }
    return text;
}

/** A demand for a whole transfer. */
inline Demand whole(uint64_t bytes)
{
    return Demand{.remaining = Bytes(bytes), .total = Bytes(bytes)};
}

/** Small enough to follow with a pencil: chunks of 1024 to 8192 bytes, and the
 *  quantum of a path of 1 MB/s is 4000 bytes. */
inline Limits small_limits()
{
    return Limits{.min_chunk = Bytes(1024),
                  .max_chunk = Bytes(8192),
                  .chunk_time = Nanos::millis(4)};
}

} // namespace fuselink::sched::test

#endif
