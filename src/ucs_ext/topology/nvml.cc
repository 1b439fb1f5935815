/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "nvml.h"

#include <dlfcn.h>

namespace fuselink::topology {
namespace {

template <typename Function>
bool load(void *library, const char *name, Function &function)
{
    function = reinterpret_cast<Function>(dlsym(library, name));
    return function != nullptr;
}

} // namespace

Nvml::Nvml(const char *library)
{
    library_ = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) {
        return;
    }
    bool all = load(library_, "nvmlInit_v2", calls_.init) &&
               load(library_, "nvmlShutdown", calls_.shutdown) &&
               load(library_, "nvmlErrorString", calls_.error_string) &&
               load(library_, "nvmlDeviceGetCount_v2", calls_.count) &&
               load(library_, "nvmlDeviceGetHandleByIndex_v2", calls_.handle) &&
               load(library_, "nvmlDeviceGetName", calls_.name) &&
               load(library_, "nvmlDeviceGetUUID", calls_.uuid) &&
               load(library_, "nvmlDeviceGetPciInfo_v3", calls_.pci);
    if (!all) {
        why_ = std::string(library) + " is of a driver that is too old";
        return;
    }
    load(library_, "nvmlDeviceGetMigMode", calls_.mig);
    load(library_, "nvmlDeviceGetTopologyCommonAncestor", calls_.ancestor);
    load(library_, "nvmlDeviceGetP2PStatus", calls_.p2p);
    load(library_, "nvmlDeviceGetNvLinkState", calls_.link_state);
    load(library_, "nvmlDeviceGetNvLinkRemotePciInfo_v2", calls_.link_remote);
    load(library_, "nvmlDeviceGetNvLinkRemoteDeviceType",
         calls_.link_remote_type);
    load(library_, "nvmlDeviceGetFieldValues", calls_.fields);
    load(library_, "nvmlDeviceGetMaxPcieLinkGeneration",
         calls_.pcie_generation);
    load(library_, "nvmlDeviceGetMaxPcieLinkWidth", calls_.pcie_width);
    int result = calls_.init();
    if (result != NvmlCalls::kSuccess) {
        why_ = std::string(library) + ": " + calls_.error_string(result);
        return;
    }
    ready_ = true;
}

Nvml::~Nvml()
{
    if (ready_) {
        calls_.shutdown();
    }
    if (library_ != nullptr) {
        dlclose(library_);
    }
}

} // namespace fuselink::topology
