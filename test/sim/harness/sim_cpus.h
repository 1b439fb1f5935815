/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_SIM_HARNESS_SIM_CPUS_H
#define FUSELINK_TEST_SIM_HARNESS_SIM_CPUS_H

#include "../../../src/ucs_ext/cpus.h"

#include <limits>

namespace fuselink::sim {

/** Nobody is bound: whose turn it is, is drawn. */
class SimCpus final : public Cpus {
public:
    CpuSet   own() override { return CpuSet(3); }
    CpuSet   allowed() override { return own(); }
    CpuSet   with_siblings(const CpuSet &cpus) override { return cpus; }
    CpuSet   near(const CpuSet &) override { return own(); }
    double   quota() override { return std::numeric_limits<double>::infinity(); }
    bool     bind(const CpuSet &) override { return true; }
    bool     give_way(int) override { return true; }
    unsigned launched() override { return 0; }
};

} // namespace fuselink::sim

#endif
