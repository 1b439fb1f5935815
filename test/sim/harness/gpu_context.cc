/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
/* The CUDA contexts of a simulation, in place of the driver's: a program that has a
 * GPU uses it from the beginning. See relay/gpu_context.h. */

#include "relay/gpu_context.h"

#include "../fabric/world.h"

#include <cstring>

namespace fuselink {
namespace {

/* Of each GPU, bytes. */
constexpr uint64_t kMemory = uint64_t{8} << 30;

/* What a Handle is. */
struct Exported {
    uint32_t check; /* kExported */
    uint32_t process;
    uint64_t base;
};
constexpr uint32_t kExported = 0x5e5e5e5e;

sim::Process *running()
{
    sim::World &world = *sim::World::current;
    return world.running < world.processes().size() ?
               world.processes()[world.running].get() : nullptr;
}

} // namespace

GpuContext GpuContext::current()
{
    GpuContext    context;
    sim::Process *process = running();
    if (process != nullptr && process->has_gpu()) {
        context.handle_ = process;
    }
    return context;
}

bool GpuContext::enter() const
{
    return handle_ != nullptr;
}

bool GpuContext::uuid(Uuid &uuid)
{
    const sim::Process *process = running();
    uuid                        = {};
    if (process == nullptr || !process->has_gpu()) {
        return false;
    }
    uuid[0] = 0x51;
    uuid[1] = static_cast<uint8_t>(process->index());
    return true;
}

bool GpuContext::export_memory(const void *memory, Handle &handle)
{
    const sim::Process *process = running();
    const Exported      exported{kExported, process != nullptr ? process->index() : 0,
                            reinterpret_cast<uintptr_t>(memory)};
    handle = {};
    memcpy(handle.data(), &exported, sizeof(exported));
    return process != nullptr;
}

/* Of somebody who is gone there is nothing that could be mapped. */
void *GpuContext::map(const Handle &handle)
{
    Exported      exported;
    sim::Process *process = running();
    memcpy(&exported, handle.data(), sizeof(exported));
    const auto &all = sim::World::current->processes();
    if (process == nullptr || exported.check != kExported ||
        exported.process >= all.size()) {
        return nullptr;
    }
    const sim::Process &other = *all[exported.process];
    return other.alive && other.node() == process->node() &&
                   process->map_device(other, exported.base) ?
               reinterpret_cast<void *>(exported.base) : nullptr;
}

/* Its process may be gone, or be closed by the simulation. */
void GpuContext::unmap(void *memory)
{
    for (const auto &process : sim::World::current->processes()) {
        if (process->index() == sim::World::current->running) {
            process->unmap_device(reinterpret_cast<uintptr_t>(memory));
        }
    }
}

void GpuContext::memory(uint64_t &left, uint64_t &total)
{
    left = total = kMemory;
}

} // namespace fuselink
