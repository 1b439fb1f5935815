/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_SIM_HARNESS_GROUND_H
#define FUSELINK_TEST_SIM_HARNESS_GROUND_H

#include "../fabric/world.h"

namespace fuselink::sim {

/** What all runs stand on, once in a process: the simulated transports are registered,
 *  and what fuselink and UCX say goes to the run, which has to have a reason for it. */
void prepare_once();

/** Nobody uses anything any more: so nothing is left of it. */
void check_left_over(World &world);

} // namespace fuselink::sim

#endif
