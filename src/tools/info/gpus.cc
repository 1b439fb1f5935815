/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "show_gpus.h"

#include <algorithm>

namespace fuselink::info {

std::vector<topology::NicPath> Facts::Gpus::paths(size_t gpu) const
{
    /* The ports of one NIC are one way. */
    std::vector<size_t> nics;
    for (const auto &nic : rail_nics) {
        if (nic && std::find(nics.begin(), nics.end(), *nic) == nics.end()) {
            nics.push_back(*nic);
        }
    }
    return topology::nic_paths(devices, gpu, nics);
}

size_t Facts::Gpus::rail_of(size_t nic) const
{
    return static_cast<size_t>(
        std::find(rail_nics.begin(), rail_nics.end(), nic) - rail_nics.begin());
}

std::optional<size_t> Facts::Gpus::cuda_number(size_t gpu) const
{
    auto at = std::find(visible.gpus.begin(), visible.gpus.end(), gpu);
    if (!visible.certain || at == visible.gpus.end()) {
        return std::nullopt;
    }
    return static_cast<size_t>(at - visible.gpus.begin());
}

const char *used_way(const topology::NicPath &path, const Facts::Rail &rail)
{
    using Way = topology::NicPath::Way;
    if (!rail.no_gpu_direct.empty()) {
        return "host";
    }
    return path.way == Way::Direct || rail.far_gpus ? "direct" :
           path.way == Way::Relay                   ? "relay" : "host";
}

} // namespace fuselink::info
