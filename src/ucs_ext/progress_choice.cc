/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "progress_choice.h"

#include <algorithm>

namespace fuselink {
namespace {

/* The looks of so many threads, of some 5 us every 2 ms at the most often, take 2 % of a CPU. */
constexpr double kMostShare = 8;

std::string counted(unsigned count, const std::string &what)
{
    return std::to_string(count) + " " + what;
}

} // namespace

ProgressChoice choose_progress(Cpus &cpus)
{
    const unsigned processes = std::max(cpus.launched(), 1u);
    const CpuSet allowed = cpus.allowed();
    const double quota   = cpus.quota();
    const auto   count   = static_cast<double>(
        std::max<size_t>((allowed.any() ? allowed : cpus.own()).count(), 1));
    /* A quota of half a CPU is one that is shared by two. */
    const double share   = std::max(std::min(count, quota), 0.01);
    const auto   whole   = static_cast<unsigned>(count);
    ProgressChoice choice;
    choice.thread  = processes <= kMostShare * share;
    choice.crowded = processes > share;
    choice.why     = counted(processes, processes == 1 ? "process" : "processes") + ", " +
                     counted(whole, whole == 1 ? "CPU" : "CPUs");
    if (quota < count) {
        choice.why += " with time for " + std::to_string(share).substr(0, 4);
    }
    return choice;
}

CpuSet place_beside(Cpus &cpus, const CpuSet &own, const CpuSet &bound,
                    unsigned count)
{
    const CpuSet free = cpus.allowed() & ~bound & ~own;
    const CpuSet idle = free & ~cpus.with_siblings(bound | own);
    for (const CpuSet &best : {idle & cpus.near(own), idle, free & cpus.near(own), free}) {
        if (best.count() >= std::max(count, 1u)) {
            return best;
        }
    }
    return own;
}

} // namespace fuselink
