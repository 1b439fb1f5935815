/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_RELAY_MEMORY_PRESSURE_H
#define FUSELINK_RELAY_MEMORY_PRESSURE_H

#include "../ucx.h"

#include <atomic>
#include <cstdint>
#include <pthread.h>

extern "C" {
#include <ucm/api/ucm.h>
}

namespace fuselink {

/**
 * How much of a GPU's memory the program may still take before an agent is to give
 * back what it has of it. UCX sees the program's allocations; the one that leaves
 * too little returns to the program when the agent has given its memory back, or
 * soon in any case. Where UCX does not see them the agent has to look by itself.
 */
class MemoryPressure {
public:
    using Wake = void (*)(void *arg);

    /** In the agent's thread. `wake` is called in others. */
    MemoryPressure(Wake wake, void *arg);
    ~MemoryPressure();
    MemoryPressure(const MemoryPressure &)            = delete;
    MemoryPressure &operator=(const MemoryPressure &) = delete;

    /** The program has been given a lot: see how much is left. */
    bool asked() { return asked_.exchange(false); }
    /** The answer: `spare` bytes may be allocated; or the agent has no memory. */
    void settle(int64_t spare)
    {
        spare_.store(spare);
        settled_.fetch_add(1);
    }
    void none() { settle(INT64_MAX / 2); }

private:
    static void on_event(ucm_event_type_t type, ucm_event_t *event, void *self);
    void        allocated(uint64_t size);

    const Wake            wake_;
    void *const           arg_;
    const pthread_t       agent_;
    bool                  watching_;
    std::atomic<int64_t>  spare_{INT64_MAX / 2};
    std::atomic<bool>     asked_{false};
    std::atomic<uint32_t> settled_{0};
};

} // namespace fuselink

#endif
