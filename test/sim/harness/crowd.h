/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_SIM_HARNESS_CROWD_H
#define FUSELINK_TEST_SIM_HARNESS_CROWD_H

#include "../fabric/world.h"
#include "scenario.h"

#include <functional>

namespace fuselink::sim {

/**
 * Other programs on the machines of a run (Scenario::crowded): for much of the time a
 * process has no processor, while its kernel and NICs go on. Each comes and goes by
 * chance of its own.
 */
class Crowd {
public:
    Crowd(const Scenario &scenario, World &world) : scenario_(scenario), world_(world) {}

    void begin();
    /** All have a processor from now on. */
    void end();

private:
    void run(Process &process);
    void wait(Process &process);
    void after(uint64_t time, std::function<void()> then);

    const Scenario &scenario_;
    World          &world_;
    Random          chance_{scenario_.seed, 98};
    uint64_t        longest_run_[2] = {}, longest_wait_[2] = {}; /* ns, of each second one */
    bool            over_ = false;
};

} // namespace fuselink::sim

#endif
