/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_SIM_UCP_RUN_H
#define FUSELINK_TEST_SIM_UCP_RUN_H

#include "../harness/run.h"

namespace fuselink::sim {

/** One run of programs that use UCP, whose one transport is fuselink, as harness/run.h's
 *  of those that use UCT. One thread. */
Outcome run_ucp(uint64_t seed, Wires wires, const Cuts &cuts, FILE *print);

/** What it consists of that can be left out. */
std::vector<unsigned> numbers_ucp(uint64_t seed, Wires wires, const Cuts &cuts);

inline constexpr Sort kUcpPrograms{"--ucp ", run_ucp, numbers_ucp};

} // namespace fuselink::sim

#endif
