/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
/*
 * gpu_list: a line for each GPU that this process may use, by the driver and by
 * NVML, which have to agree.
 */
#include <cuda.h>
#include <nvml.h>
#include <stdio.h>
#include <string.h>

static int list(CUdevice device, int count)
{
    char             name[64], bus[32], uuid[64];
    size_t           memory;
    int              peer, can, peers = 0;
    nvmlDevice_t     handle;
    nvmlPciInfo_t    pci;
    nvmlFieldValue_t links = {.fieldId = NVML_FI_DEV_NVLINK_LINK_COUNT};

    if (cuDeviceGetName(name, sizeof(name), device) != CUDA_SUCCESS ||
        cuDeviceGetPCIBusId(bus, sizeof(bus), device) != CUDA_SUCCESS ||
        cuDeviceTotalMem(&memory, device) != CUDA_SUCCESS) {
        fprintf(stderr, "gpu_list: device %d: the driver fails\n", device);
        return 1;
    }
    for (peer = 0; peer < count; ++peer) {
        if (peer != device &&
            cuDeviceCanAccessPeer(&can, device, peer) == CUDA_SUCCESS) {
            peers += can;
        }
    }
    if (nvmlDeviceGetHandleByPciBusId(bus, &handle) != NVML_SUCCESS ||
        nvmlDeviceGetPciInfo(handle, &pci) != NVML_SUCCESS ||
        nvmlDeviceGetUUID(handle, uuid, sizeof(uuid)) != NVML_SUCCESS ||
        nvmlDeviceGetFieldValues(handle, 1, &links) != NVML_SUCCESS) {
        fprintf(stderr, "gpu_list: %s: NVML does not know it\n", bus);
        return 1;
    }
    printf("%d: %s, %s, %s, %zu MiB, nvlink %u, peers %d\n", device, name, bus,
           uuid, memory >> 20,
           links.nvmlReturn == NVML_SUCCESS ? links.value.uiVal : 0, peers);
    return 0;
}

int main(void)
{
    int      count = 0, failed = 0;
    CUdevice device;
    if (cuInit(0) != CUDA_SUCCESS || cuDeviceGetCount(&count) != CUDA_SUCCESS) {
        fprintf(stderr, "gpu_list: no CUDA here\n");
        return 1;
    }
    if (nvmlInit() != NVML_SUCCESS) {
        fprintf(stderr, "gpu_list: no NVML here\n");
        return 1;
    }
    for (device = 0; device < count; ++device) {
        failed |= list(device, count);
    }
    nvmlShutdown();
    return failed;
}
