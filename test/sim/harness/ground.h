/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_SIM_HARNESS_GROUND_H
#define FUSELINK_TEST_SIM_HARNESS_GROUND_H

#include "../fabric/world.h"
#include "scenario.h"
#include "sim_host.h"

#include <memory>
#include <vector>

namespace fuselink::sim {

/** What all runs stand on, once in a process: the simulated transports are registered,
 *  and what fuselink and UCX say goes to the run, which has to have a reason for it. */
void prepare_once();

/** The nodes of a run, with their NICs, and what processes of each share. */
std::vector<std::unique_ptr<NodeMemory>> add_nodes(World          &world,
                                                   const Scenario &scenario);

/** Nobody uses anything any more: so nothing is left of it. */
void check_left_over(World &world);

} // namespace fuselink::sim

#endif
