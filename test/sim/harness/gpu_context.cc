/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
/* The CUDA contexts of a simulation, in place of the driver's: a program that has a
 * GPU uses it from the beginning. See relay/gpu_context.h. */

#include "relay/gpu_context.h"

#include "../fabric/world.h"

namespace fuselink {
namespace {

/* Of each GPU, bytes. */
constexpr uint64_t kMemory = uint64_t{8} << 30;

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

void GpuContext::memory(uint64_t &left, uint64_t &total)
{
    left = total = kMemory;
}

} // namespace fuselink
