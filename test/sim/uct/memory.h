/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_SIM_UCT_MEMORY_H
#define FUSELINK_TEST_SIM_UCT_MEMORY_H

#include "ucx.h"

#include <cstdint>

namespace fuselink::sim {

/** What a packed key of a simulated RDMA NIC is, and what an unpacked one
 *  points to. */
struct MemoryKey {
    uint64_t key;
    uint32_t process;
    uint32_t check; /* kKeyCheck */
};

inline constexpr uint32_t kKeyCheck = 0x51515151;

/** The component of the simulated NICs, registered with UCT once. */
void register_component();
/** That of the simulated GPUs. */
void register_gpu_component();

/* What the components have in common. */

void fill_component(uct_component_t &component, const char *name,
                    decltype(uct_component_t::query_md_resources) query_mds,
                    decltype(uct_component_t::md_open)            open_md);
void add_transport(uct_component_t &component, uct_tl_t &tl, const char *name,
                   const char *prefix,
                   decltype(uct_tl_t::query_devices) devices,
                   decltype(uct_tl_t::iface_open)    open);

} // namespace fuselink::sim

#endif
