/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "memory_pressure.h"

#include <algorithm>
#include <time.h>

namespace fuselink {
namespace {

/* Behind UCX's own handlers. */
constexpr int kPriority = 1000;

/* What an allocation waits for the agent, at most: in such steps. */
constexpr timespec kStep   = {0, 100000};
constexpr int      kSteps  = 500;

/* No allocation is longer. */
constexpr uint64_t kMost = uint64_t{1} << 48;

} // namespace

MemoryPressure::MemoryPressure(Wake wake, void *arg)
    : wake_(wake), arg_(arg), agent_(pthread_self()),
      watching_(ucm_set_event_handler(UCM_EVENT_MEM_TYPE_ALLOC, kPriority,
                                      on_event, this) == UCS_OK)
{
}

MemoryPressure::~MemoryPressure()
{
    if (watching_) {
        ucm_unset_event_handler(UCM_EVENT_MEM_TYPE_ALLOC, on_event, this);
    }
}

void MemoryPressure::on_event(ucm_event_type_t, ucm_event_t *event, void *self)
{
    ucs_memory_type_t type = event->mem_type.mem_type;
    if (type == UCS_MEMORY_TYPE_CUDA || type == UCS_MEMORY_TYPE_CUDA_MANAGED ||
        type == UCS_MEMORY_TYPE_LAST) {
        static_cast<MemoryPressure *>(self)->allocated(event->mem_type.size);
    }
}

void MemoryPressure::allocated(uint64_t size)
{
    auto bytes = static_cast<int64_t>(std::min(size, kMost));
    if (spare_.fetch_sub(bytes) - bytes > 0 ||
        pthread_equal(pthread_self(), agent_)) {
        return;
    }
    uint32_t before = settled_.load();
    asked_.store(true);
    wake_(arg_);
    for (int i = 0; i < kSteps && settled_.load() == before; ++i) {
        nanosleep(&kStep, nullptr);
    }
}

} // namespace fuselink
