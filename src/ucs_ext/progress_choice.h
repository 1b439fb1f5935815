/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_UCS_EXT_PROGRESS_CHOICE_H
#define FUSELINK_UCS_EXT_PROGRESS_CHOICE_H

#include "cpus.h"

#include <string>

namespace fuselink {

/** Who moves the data of a process while its program computes. */
struct ProgressChoice {
    bool        thread = false;  /* of its own, beside the program */
    bool        crowded = false; /* there are more processes than time of CPUs */
    std::string why;             /* for people: continues a sentence */
};

/**
 * By whether there is CPU to be had. A thread looks now and then whether the program calls;
 * what that costs is too much only where very many share a CPU. It works while the program
 * does not call, and if CPUs are full it does then what has to be done later otherwise.
 * The processes that the launcher has started do the same; where it says nothing, this one.
 */
ProgressChoice choose_progress(Cpus &cpus);

/**
 * Where such a thread is to run, if its process is bound to CPUs: on those to which no
 * process is, of cores that nobody uses if there are any, and near its own if it has the
 * choice and those are as many as processes that are bound. Its process's own where there
 * are fewer of all: who shares a CPU with many waits.
 *
 * @param own   those of the process
 * @param bound of all processes that are bound, this one included
 * @param count how many of them there are
 */
CpuSet place_beside(Cpus &cpus, const CpuSet &own, const CpuSet &bound,
                    unsigned count);

} // namespace fuselink

#endif
