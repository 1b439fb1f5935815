/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "gpu.h"

#include "world.h"

#include <algorithm>
#include <csignal>
#include <sys/mman.h>
#include <vector>

namespace fuselink::sim {
namespace {

/* Those of the run. */
std::vector<const DeviceRange *> ranges;

/* A CPU has touched one: somewhere in a copy of the transport's, never in the
 * allocator, so that this may do what it likes. The range becomes memory, and the run
 * goes on to where it is looked at. */
void on_fault(int number, siginfo_t *info, void *)
{
    const auto at = reinterpret_cast<uintptr_t>(info->si_addr);
    for (const DeviceRange *range : ranges) {
        if (!range->has(at)) {
            continue;
        }
        World::current->journal().violate(
            "process " + std::to_string(World::current->running) +
            " has the CPU touch memory of a GPU, at " +
            std::to_string(at - range->base()));
        mprotect(reinterpret_cast<void *>(range->base()), range->length(),
                 PROT_READ | PROT_WRITE);
        return;
    }
    signal(number, SIG_DFL); /* a fault like any other: it comes again */
}

void watch_faults()
{
    static bool watching = false;
    if (watching) {
        return;
    }
    watching = true;
    struct sigaction action{};
    action.sa_sigaction = on_fault;
    action.sa_flags     = SA_SIGINFO;
    sigaction(SIGSEGV, &action, nullptr);
}

} // namespace

DeviceRange::DeviceRange(size_t length) : length_(length)
{
    if (length == 0) {
        return;
    }
    void *at = mmap(nullptr, length, PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) {
        length_ = 0;
        World::current->journal().violate("no addresses for memory of a GPU");
        return;
    }
    base_ = reinterpret_cast<uintptr_t>(at);
    watch_faults();
    ranges.push_back(this);
}

DeviceRange::~DeviceRange()
{
    std::erase(ranges, this);
    if (length_ != 0) {
        munmap(reinterpret_cast<void *>(base_), length_);
    }
}

} // namespace fuselink::sim
