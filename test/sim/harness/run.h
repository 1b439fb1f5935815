/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_SIM_HARNESS_RUN_H
#define FUSELINK_TEST_SIM_HARNESS_RUN_H

#include "../fabric/world.h"
#include "scenario.h"

#include <array>
#include <cstdio>
#include <string>
#include <vector>

namespace fuselink::sim {

using Counts = std::array<uint64_t, static_cast<size_t>(Count::kCount)>;

/** What a run has come to. */
struct Outcome {
    std::vector<std::string> violations; /* none: it is well */
    uint64_t                 hash  = 0;  /* of all that has happened */
    uint64_t                 lines = 0;
    Instant                  end   = 0;
    Counts                   counts{};
    bool well() const { return violations.empty(); }
};

/** The end of a run in this world: what it has come to. */
Outcome leave(World &world);

/** One run, from nothing to nothing.
 *  @param print where to write what happens; null: nowhere */
Outcome run(uint64_t seed, Wires wires, const Cuts &cuts, FILE *print = nullptr);

/** What it consists of that can be left out. */
std::vector<unsigned> numbers(uint64_t seed, Wires wires, const Cuts &cuts);

/** Which programs run: those that call UCT, as above, or UCP (ucp/run.h). */
struct Sort {
    const char *option; /* of sim_tests, to come first */
    Outcome (*run)(uint64_t seed, Wires wires, const Cuts &cuts, FILE *print);
    std::vector<unsigned> (*numbers)(uint64_t seed, Wires wires, const Cuts &cuts);
};
inline constexpr Sort kUctPrograms{"", run, numbers};

/** The fewest actions and faults with which a run that has failed still does. */
Cuts shrink(const Sort &sort, uint64_t seed, Wires wires, const Cuts &cuts,
            unsigned most_runs);

/** The arguments that repeat a run. */
std::string replay_line(const Sort &sort, uint64_t seed, Wires wires,
                        const Cuts &cuts);

} // namespace fuselink::sim

#endif
