/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
/* Which NICs are near a simulated GPU, in place of what NVML and hwloc know of this
 * machine. All GPUs of a node have NVLink. See relay/nvlinks.h. */

#include "relay/nvlinks.h"

#include "../fabric/world.h"

namespace fuselink {

bool NvLinks::read(std::string &)
{
    return true;
}

bool NvLinks::known()
{
    return true;
}

/* The GPUs' UUIDs are those of the simulation's GpuContext. */
uint32_t NvLinks::nearest(const GpuContext::Uuid &gpu, const std::vector<std::string> &nics)
{
    static const std::string kRdma = "sim_rdma";
    const auto    &processes = sim::World::current->processes();
    const uint32_t all       = (1u << nics.size()) - 1;
    uint32_t       near      = 0;
    for (size_t i = 0; i < nics.size(); ++i) {
        if (gpu[1] >= processes.size() || nics[i].rfind(kRdma, 0) != 0) {
            return all;
        }
        const unsigned nic = static_cast<unsigned>(atoi(nics[i].c_str() + kRdma.size()));
        near |= (processes[gpu[1]]->gpu.near >> nic & 1) << i;
    }
    return near;
}

bool NvLinks::any(const GpuContext::Uuid &)
{
    return true;
}

bool NvLinks::between(const GpuContext::Uuid &one, const GpuContext::Uuid &other)
{
    return one != other;
}

} // namespace fuselink
