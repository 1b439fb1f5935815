/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_SIM_UCT_MEMORY_H
#define FUSELINK_TEST_SIM_UCT_MEMORY_H

#include <cstdint>

namespace fuselink::sim {

/** What a packed key of a simulated RDMA NIC is, and what an unpacked one
 *  points to. */
struct MemoryKey {
    uint64_t key;
    uint32_t process;
    uint32_t check;
};

/** The component of the simulated NICs, registered with UCT once. */
void register_component();

} // namespace fuselink::sim

#endif
