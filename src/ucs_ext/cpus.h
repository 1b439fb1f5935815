/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_UCS_EXT_CPUS_H
#define FUSELINK_UCS_EXT_CPUS_H

#include <bitset>
#include <string_view>

namespace fuselink {

/** CPUs by their number; as many as sched_setaffinity() takes by default. */
using CpuSet = std::bitset<1024>;

/** "0-3,8", as the kernel writes them; what is no such list, or beyond a CpuSet, is
 *  left out. */
CpuSet cpus_in(std::string_view list);

/** Of "2(x3),1", as Slurm writes how many processes the nodes of a job have: how many the
 *  `node`-th has, counted from 0. 0 if the list is no such list, or shorter. */
unsigned tasks_of_node(std::string_view list, size_t node);

/**
 * The CPUs of a node, as one process of it sees them. Asks the kernel; none of it is for a
 * fast path. Thread-safe.
 */
class Cpus {
public:
    /** Those on which the calling thread may run: all, or those it is bound to. */
    virtual CpuSet own() = 0;
    /** Those to which it could be bound: its cgroup's that are online. None if that is
     *  not known. */
    virtual CpuSet allowed() = 0;
    /** These, and those that share a core with one of them. */
    virtual CpuSet with_siblings(const CpuSet &cpus) = 0;
    /** All of the NUMA nodes that have one of these; all there are if that is not
     *  known. */
    virtual CpuSet near(const CpuSet &cpus) = 0;
    /** How many of them the cgroup has time for; infinity: no limit. */
    virtual double quota() = 0;
    /** Binds the calling thread. False if that cannot be. */
    virtual bool   bind(const CpuSet &cpus) = 0;
    /** The calling thread gives way to others from now on, by so many `steps` of nice(2),
     *  each of which takes a fifth of its share. False if that cannot be; errno says why. */
    virtual bool   give_way(int steps) = 0;
    /** How many processes of its job a launcher has said it has started on this node;
     *  0: it says nothing. */
    virtual unsigned launched() = 0;

    /** As the kernel has them. */
    static Cpus &real();

protected:
    ~Cpus() = default;
};

} // namespace fuselink

#endif
