/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "driver/driver.h"
#include "sim/identity.h"

#include <cstdio>
#include <cstring>
#include <strings.h>

using namespace cudasim;

CUDASIM_EXPORT CUresult CUDAAPI cuDeviceGetCount(int *count)
{
    CUDASIM_DRIVER(driver);
    *count = driver->device_count();
    return CUDA_SUCCESS;
}

CUDASIM_EXPORT CUresult CUDAAPI cuDeviceGet(CUdevice *device, int ordinal)
{
    CUDASIM_DRIVER(driver);
    if (!driver->is_device(ordinal)) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    *device = ordinal;
    return CUDA_SUCCESS;
}

#define CUDASIM_DEVICE(_driver, _device)        \
    CUDASIM_DRIVER(_driver);                    \
    if (!_driver->is_device(_device)) {         \
        return CUDA_ERROR_INVALID_DEVICE;       \
    }

CUDASIM_EXPORT CUresult CUDAAPI cuDeviceGetName(char *name, int length,
                                                CUdevice device)
{
    CUDASIM_DEVICE(driver, device);
    snprintf(name, static_cast<size_t>(length), "%s",
             gpu_name(driver->gpu_of(device)).c_str());
    return CUDA_SUCCESS;
}

CUDASIM_EXPORT CUresult CUDAAPI cuDeviceTotalMem(size_t *bytes, CUdevice device)
{
    CUDASIM_DEVICE(driver, device);
    *bytes = driver->topology.gpus()[driver->gpu_of(device)].memory;
    return CUDA_SUCCESS;
}

CUDASIM_EXPORT CUresult CUDAAPI cuDeviceGetUuid(CUuuid *uuid, CUdevice device)
{
    CUDASIM_DEVICE(driver, device);
    *uuid = driver->uuid(driver->gpu_of(device));
    return CUDA_SUCCESS;
}

/* Its first name; the newer one differs for a part of a GPU only. */
CUDASIM_EXPORT CUresult cudasim_device_uuid(CUuuid *uuid, CUdevice device)
    __asm__("cuDeviceGetUuid");
CUresult cudasim_device_uuid(CUuuid *uuid, CUdevice device)
{
    CUDASIM_DEVICE(driver, device);
    *uuid = driver->uuid(driver->gpu_of(device));
    return CUDA_SUCCESS;
}

CUDASIM_EXPORT CUresult CUDAAPI cuDeviceGetAttribute(
    int *value, CUdevice_attribute attribute, CUdevice device)
{
    CUDASIM_DEVICE(driver, device);
    const int gpu = driver->gpu_of(device);
    switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
        *value = static_cast<int>(driver->topology.capability() / 10);
        break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
        *value = static_cast<int>(driver->topology.capability() % 10);
        break;
    case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
        *value = static_cast<int>(gpu_bus(gpu));
        break;
    case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
    case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
    case CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY:
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS:
    case CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM:
    case CU_DEVICE_ATTRIBUTE_GPU_OVERLAP:
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
        *value = 1;
        break;
    case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT:
        *value = 2;
        break;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
        *value = 32;
        break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
        *value = 1;
        break;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *value = 1024;
        break;
    default:
        /* PCI domain and device. Memory pools, virtual memory, GPUDirect,
         * dmabuf, kernels: none. */
        *value = 0;
        break;
    }
    return CUDA_SUCCESS;
}

CUDASIM_EXPORT CUresult CUDAAPI cuDeviceGetPCIBusId(char *text, int length,
                                                    CUdevice device)
{
    CUDASIM_DEVICE(driver, device);
    snprintf(text, static_cast<size_t>(length), "0000:%02x:00.0",
             gpu_bus(driver->gpu_of(device)));
    return CUDA_SUCCESS;
}

CUDASIM_EXPORT CUresult CUDAAPI cuDeviceGetByPCIBusId(CUdevice   *device,
                                                      const char *text)
{
    CUDASIM_DRIVER(driver);
    for (CUdevice i = 0; i < driver->device_count(); ++i) {
        char own[32];
        cuDeviceGetPCIBusId(own, sizeof(own), i);
        if (strcasecmp(own, text) == 0) {
            *device = i;
            return CUDA_SUCCESS;
        }
    }
    return CUDA_ERROR_INVALID_DEVICE;
}

CUDASIM_EXPORT CUresult CUDAAPI cuDeviceCanAccessPeer(int *can, CUdevice device,
                                                      CUdevice peer)
{
    CUDASIM_DEVICE(driver, device);
    if (!driver->is_device(peer)) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    *can = device != peer &&
           driver->peers(driver->gpu_of(device), driver->gpu_of(peer));
    return CUDA_SUCCESS;
}

CUDASIM_EXPORT CUresult CUDAAPI cuDeviceGetP2PAttribute(
    int *value, CUdevice_P2PAttribute attribute, CUdevice device, CUdevice peer)
{
    CUDASIM_DEVICE(driver, device);
    if (!driver->is_device(peer) || device == peer) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    const int a = driver->gpu_of(device), b = driver->gpu_of(peer);
    switch (attribute) {
    case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
        *value = driver->peers(a, b);
        break;
    case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK: {
        bool nvlink = false;
        for (int end : driver->topology.nvlink_ends(a)) {
            nvlink |= end == b;
        }
        *value = nvlink ? 0 : 1; /* less is better */
        break;
    }
    default:
        *value = 0;
        break;
    }
    return CUDA_SUCCESS;
}

CUDASIM_EXPORT CUresult CUDAAPI cuDeviceComputeCapability(int *major, int *minor,
                                                          CUdevice device)
{
    CUDASIM_DEVICE(driver, device);
    *major = static_cast<int>(driver->topology.capability() / 10);
    *minor = static_cast<int>(driver->topology.capability() % 10);
    return CUDA_SUCCESS;
}
