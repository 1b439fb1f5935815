/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
/* The part of libnvidia-ml that shows the topology. */
#include <nvml.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>

#include "sim/identity.h"
#include "sim/node.h"
#include "sim/topology.h"

#define CUDASIM_NVML extern "C" __attribute__((visibility("default"))) nvmlReturn_t

using namespace cudasim;

/* A handle is a pointer to one of these. */
struct nvmlDevice_st {
    int gpu;
};

namespace {

struct Nvml {
    Topology      topology;
    nvmlDevice_st devices[kMaxGpus];
};

std::mutex mutex;
Nvml      *nvml; /* stays when it has been made */
unsigned   users;

bool is_device(nvmlDevice_t device)
{
    return nvml != nullptr && device >= nvml->devices &&
           device < nvml->devices + nvml->topology.gpus().size();
}

void fill_pci(int gpu, nvmlPciInfo_t *pci)
{
    memset(pci, 0, sizeof(*pci));
    pci->bus = gpu_bus(gpu);
    snprintf(pci->busId, sizeof(pci->busId), "00000000:%02X:00.0", pci->bus);
    snprintf(pci->busIdLegacy, sizeof(pci->busIdLegacy), "0000:%02X:00.0",
             pci->bus);
}

/* MB/s of one of the links that a GPU is shown to have; 0 if without a limit. A
 * port of a switch is divided among them. */
double link_speed(int gpu)
{
    auto ends = nvml->topology.nvlink_ends(gpu);
    if (ends.empty()) {
        return 0;
    }
    bool     port = nvml->topology.has_switch();
    unsigned link = port ? static_cast<unsigned>(
                               nvml->topology.gpus()[gpu].port_out) :
                           nvml->topology.route(gpu, ends[0]).links[0];
    double   rate = static_cast<double>(nvml->topology.links()[link].rate) /
                  1e6;
    return port ? rate / static_cast<double>(ends.size()) : rate;
}

nvmlReturn_t copy_text(const std::string &text, char *to, unsigned length)
{
    if (text.size() >= length) {
        return NVML_ERROR_INSUFFICIENT_SIZE;
    }
    memcpy(to, text.c_str(), text.size() + 1);
    return NVML_SUCCESS;
}

} // namespace

#define CUDASIM_NVML_DEVICE(_device)             \
    if (nvml == nullptr) {                       \
        return NVML_ERROR_UNINITIALIZED;         \
    }                                            \
    if (!is_device(_device)) {                   \
        return NVML_ERROR_INVALID_ARGUMENT;      \
    }

/* The file is checked, and complained of, by the driver. */
CUDASIM_NVML nvmlInit_v2(void)
{
    std::lock_guard guard(mutex);
    if (nvml == nullptr) {
        const char *file = getenv("CUDASIM_TOPOLOGY");
        std::string error;
        auto topology = Topology::load(file != nullptr ? file : "", error);
        if (!topology) {
            return NVML_ERROR_UNKNOWN;
        }
        const char *gpus = getenv("CUDASIM_GPUS");
        if (gpus != nullptr && *gpus != '\0' &&
            !topology->keep(static_cast<unsigned>(atoi(gpus)))) {
            return NVML_ERROR_UNKNOWN;
        }
        nvml = new Nvml{std::move(*topology), {}};
        for (unsigned i = 0; i < kMaxGpus; ++i) {
            nvml->devices[i].gpu = static_cast<int>(i);
        }
    }
    ++users;
    return NVML_SUCCESS;
}

CUDASIM_NVML nvmlShutdown(void)
{
    std::lock_guard guard(mutex);
    if (users == 0) {
        return NVML_ERROR_UNINITIALIZED;
    }
    --users;
    return NVML_SUCCESS;
}

extern "C" __attribute__((visibility("default"))) const char *
nvmlErrorString(nvmlReturn_t result)
{
    switch (result) {
    case NVML_SUCCESS: return "Success";
    case NVML_ERROR_UNINITIALIZED: return "Uninitialized";
    case NVML_ERROR_INVALID_ARGUMENT: return "Invalid Argument";
    case NVML_ERROR_NOT_SUPPORTED: return "Not Supported";
    case NVML_ERROR_NOT_FOUND: return "Not Found";
    default: return "Unknown Error";
    }
}

CUDASIM_NVML nvmlDeviceGetCount_v2(unsigned *count)
{
    if (nvml == nullptr) {
        return NVML_ERROR_UNINITIALIZED;
    }
    *count = static_cast<unsigned>(nvml->topology.gpus().size());
    return NVML_SUCCESS;
}

CUDASIM_NVML nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t *device)
{
    if (nvml == nullptr) {
        return NVML_ERROR_UNINITIALIZED;
    }
    if (index >= nvml->topology.gpus().size()) {
        return NVML_ERROR_INVALID_ARGUMENT;
    }
    *device = &nvml->devices[index];
    return NVML_SUCCESS;
}

CUDASIM_NVML nvmlDeviceGetHandleByPciBusId_v2(const char   *text,
                                              nvmlDevice_t *device)
{
    unsigned domain, bus;
    if (nvml == nullptr) {
        return NVML_ERROR_UNINITIALIZED;
    }
    if (sscanf(text, "%x:%x:", &domain, &bus) != 2 || domain != 0 ||
        bus < kFirstBus || bus - kFirstBus >= nvml->topology.gpus().size()) {
        return NVML_ERROR_NOT_FOUND;
    }
    *device = &nvml->devices[bus - kFirstBus];
    return NVML_SUCCESS;
}

CUDASIM_NVML nvmlDeviceGetIndex(nvmlDevice_t device, unsigned *index)
{
    CUDASIM_NVML_DEVICE(device);
    *index = static_cast<unsigned>(device->gpu);
    return NVML_SUCCESS;
}

CUDASIM_NVML nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned length)
{
    CUDASIM_NVML_DEVICE(device);
    return copy_text(gpu_name(device->gpu), name, length);
}

CUDASIM_NVML nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned length)
{
    CUDASIM_NVML_DEVICE(device);
    return copy_text(gpu_uuid_text(device->gpu), uuid, length);
}

CUDASIM_NVML nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
    CUDASIM_NVML_DEVICE(device);
    fill_pci(device->gpu, pci);
    return NVML_SUCCESS;
}

CUDASIM_NVML nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
{
    CUDASIM_NVML_DEVICE(device);
    std::string error;
    auto        node = Node::open(nvml->topology, Node::Role::Watcher, error);
    if (node == nullptr) {
        return NVML_ERROR_UNKNOWN;
    }
    memory->total = nvml->topology.gpus()[device->gpu].memory;
    memory->free  = node->free_memory(static_cast<unsigned>(device->gpu));
    memory->used  = memory->total - memory->free;
    return NVML_SUCCESS;
}

CUDASIM_NVML nvmlDeviceGetFieldValues(nvmlDevice_t device, int count,
                                      nvmlFieldValue_t *values)
{
    CUDASIM_NVML_DEVICE(device);
    for (int i = 0; i < count; ++i) {
        if (values[i].fieldId == NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON) {
            values[i].value.dVal = link_speed(device->gpu);
            values[i].valueType  = NVML_VALUE_TYPE_DOUBLE;
            values[i].nvmlReturn = values[i].value.dVal > 0 ?
                                       NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
            continue;
        }
        if (values[i].fieldId != NVML_FI_DEV_NVLINK_LINK_COUNT) {
            values[i].nvmlReturn = NVML_ERROR_NOT_SUPPORTED;
            continue;
        }
        values[i].nvmlReturn = NVML_SUCCESS;
        values[i].valueType  = NVML_VALUE_TYPE_UNSIGNED_INT;
        values[i].value.uiVal = static_cast<unsigned>(
            nvml->topology.nvlink_ends(device->gpu).size());
    }
    return NVML_SUCCESS;
}

CUDASIM_NVML nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned link,
                                      nvmlEnableState_t *active)
{
    CUDASIM_NVML_DEVICE(device);
    if (link >= nvml->topology.nvlink_ends(device->gpu).size()) {
        return NVML_ERROR_INVALID_ARGUMENT;
    }
    *active = NVML_FEATURE_ENABLED;
    return NVML_SUCCESS;
}

/* With a switch, links end in it; here each is shown as one to a GPU. */
CUDASIM_NVML nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t device,
                                                 unsigned     link,
                                                 nvmlPciInfo_t *pci)
{
    CUDASIM_NVML_DEVICE(device);
    auto ends = nvml->topology.nvlink_ends(device->gpu);
    if (link >= ends.size()) {
        return NVML_ERROR_INVALID_ARGUMENT;
    }
    fill_pci(ends[link], pci);
    return NVML_SUCCESS;
}

CUDASIM_NVML nvmlDeviceGetNvLinkRemoteDeviceType(
    nvmlDevice_t device, unsigned link, nvmlIntNvLinkDeviceType_t *type)
{
    CUDASIM_NVML_DEVICE(device);
    if (link >= nvml->topology.nvlink_ends(device->gpu).size()) {
        return NVML_ERROR_INVALID_ARGUMENT;
    }
    *type = nvml->topology.has_switch() ? NVML_NVLINK_DEVICE_TYPE_SWITCH :
                                          NVML_NVLINK_DEVICE_TYPE_GPU;
    return NVML_SUCCESS;
}

/* Each GPU is at a root complex of its own. */
CUDASIM_NVML nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t a, nvmlDevice_t b,
                                                 nvmlGpuTopologyLevel_t *level)
{
    CUDASIM_NVML_DEVICE(a);
    CUDASIM_NVML_DEVICE(b);
    const auto &gpus = nvml->topology.gpus();
    *level = a == b ? NVML_TOPOLOGY_INTERNAL :
             gpus[a->gpu].numa == gpus[b->gpu].numa ? NVML_TOPOLOGY_NODE :
                                                      NVML_TOPOLOGY_SYSTEM;
    return NVML_SUCCESS;
}

CUDASIM_NVML nvmlDeviceGetP2PStatus(nvmlDevice_t a, nvmlDevice_t b,
                                    nvmlGpuP2PCapsIndex_t index,
                                    nvmlGpuP2PStatus_t   *status)
{
    CUDASIM_NVML_DEVICE(a);
    CUDASIM_NVML_DEVICE(b);
    if (index != NVML_P2P_CAPS_INDEX_READ &&
        index != NVML_P2P_CAPS_INDEX_WRITE) {
        return NVML_ERROR_NOT_SUPPORTED;
    }
    *status = nvml->topology.peers(a->gpu, b->gpu) ?
                  NVML_P2P_STATUS_OK : NVML_P2P_STATUS_NOT_SUPPORTED;
    return NVML_SUCCESS;
}
