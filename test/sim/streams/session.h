/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_SIM_STREAMS_SESSION_H
#define FUSELINK_TEST_SIM_STREAMS_SESSION_H

#include <cstdint>
#include <string>
#include <vector>

namespace fuselink::sim {

/** What sessions went through. */
struct StreamCounts {
    uint64_t ended_unread = 0; /* while bytes waited to be read, or were on the wire */
    uint64_t shut = 0;         /* windows seen shut */
    uint64_t silent = 0;       /* wires seen dead */
    uint64_t shared = 0;       /* connections with both directions */
};

/**
 * Two processes, a connection between bare interfaces, puts under way, and its end by
 * one side and then the other, as host/stream_control.h has it. Returns what did not
 * hold: nothing is written once the receiver has ended it, all operations end once,
 * the sender's error handler is called once or never, what the kernel says tells a
 * wire that is silent from a receiver that does not read, who has a cable pulled hears
 * so (host/carrier.h), and nothing is left.
 *
 * One thread.
 */
std::vector<std::string> stream_session(uint64_t seed, StreamCounts &counts);

} // namespace fuselink::sim

#endif
