/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_CUDASIM_NVML_H
#define FUSELINK_CUDASIM_NVML_H

/*
 * The part of NVML's interface that UCX's cuda modules and this emulator use,
 * for CUDA toolkits that come without nvml.h. It is behind the toolkit's folder
 * in the include path, so the toolkit's own is taken where there is one. Names,
 * values and layouts are NVML's; the text is ours.
 */

#ifdef __cplusplus
extern "C" {
#endif

#define nvmlInit                         nvmlInit_v2
#define nvmlDeviceGetCount               nvmlDeviceGetCount_v2
#define nvmlDeviceGetHandleByIndex       nvmlDeviceGetHandleByIndex_v2
#define nvmlDeviceGetHandleByPciBusId    nvmlDeviceGetHandleByPciBusId_v2
#define nvmlDeviceGetPciInfo             nvmlDeviceGetPciInfo_v3
#define nvmlDeviceGetNvLinkRemotePciInfo nvmlDeviceGetNvLinkRemotePciInfo_v2

#define NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON 90
#define NVML_FI_DEV_NVLINK_LINK_COUNT        91
#define NVML_NVLINK_MAX_LINKS                18

typedef enum {
    NVML_SUCCESS                 = 0,
    NVML_ERROR_UNINITIALIZED     = 1,
    NVML_ERROR_INVALID_ARGUMENT  = 2,
    NVML_ERROR_NOT_SUPPORTED     = 3,
    NVML_ERROR_NOT_FOUND         = 6,
    NVML_ERROR_INSUFFICIENT_SIZE = 7,
    NVML_ERROR_UNKNOWN           = 999
} nvmlReturn_t;

typedef enum {
    NVML_VALUE_TYPE_DOUBLE             = 0,
    NVML_VALUE_TYPE_UNSIGNED_INT       = 1,
    NVML_VALUE_TYPE_UNSIGNED_LONG      = 2,
    NVML_VALUE_TYPE_UNSIGNED_LONG_LONG = 3
} nvmlValueType_t;

typedef enum {
    NVML_FEATURE_DISABLED = 0,
    NVML_FEATURE_ENABLED  = 1
} nvmlEnableState_t;

typedef enum {
    NVML_NVLINK_DEVICE_TYPE_GPU     = 0,
    NVML_NVLINK_DEVICE_TYPE_SWITCH  = 2,
    NVML_NVLINK_DEVICE_TYPE_UNKNOWN = 255
} nvmlIntNvLinkDeviceType_t;

typedef enum {
    NVML_TOPOLOGY_INTERNAL   = 0,
    NVML_TOPOLOGY_SINGLE     = 10,
    NVML_TOPOLOGY_MULTIPLE   = 20,
    NVML_TOPOLOGY_HOSTBRIDGE = 30,
    NVML_TOPOLOGY_NODE       = 40,
    NVML_TOPOLOGY_SYSTEM     = 50
} nvmlGpuTopologyLevel_t;

typedef enum {
    NVML_P2P_CAPS_INDEX_READ   = 0,
    NVML_P2P_CAPS_INDEX_WRITE  = 1,
    NVML_P2P_CAPS_INDEX_NVLINK = 2
} nvmlGpuP2PCapsIndex_t;

typedef enum {
    NVML_P2P_STATUS_OK            = 0,
    NVML_P2P_STATUS_NOT_SUPPORTED = 5,
    NVML_P2P_STATUS_UNKNOWN       = 6
} nvmlGpuP2PStatus_t;

typedef struct nvmlDevice_st *nvmlDevice_t;

typedef struct {
    char         busIdLegacy[16];
    unsigned int domain;
    unsigned int bus;
    unsigned int device;
    unsigned int pciDeviceId;
    unsigned int pciSubSystemId;
    char         busId[32];
} nvmlPciInfo_t;

typedef union {
    double             dVal;
    int                siVal;
    unsigned int       uiVal;
    unsigned long      ulVal;
    unsigned long long ullVal;
    signed long long   sllVal;
    unsigned short     usVal;
} nvmlValue_t;

typedef struct {
    unsigned int    fieldId;
    unsigned int    scopeId;
    long long       timestamp;
    long long       latencyUsec;
    nvmlValueType_t valueType;
    nvmlReturn_t    nvmlReturn;
    nvmlValue_t     value;
} nvmlFieldValue_t;

typedef struct {
    unsigned long long total;
    unsigned long long free;
    unsigned long long used;
} nvmlMemory_t;

nvmlReturn_t nvmlInit_v2(void);
nvmlReturn_t nvmlShutdown(void);
const char  *nvmlErrorString(nvmlReturn_t result);
nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *count);
nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index,
                                           nvmlDevice_t *device);
nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *bus,
                                              nvmlDevice_t *device);
nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned int *index);
nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name,
                               unsigned int length);
nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid,
                               unsigned int length);
nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci);
nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory);
nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int count,
                                      nvmlFieldValue_t *values);
nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned int link,
                                      nvmlEnableState_t *active);
nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t device,
                                                 unsigned int link,
                                                 nvmlPciInfo_t *pci);
nvmlReturn_t nvmlDeviceGetNvLinkRemoteDeviceType(
    nvmlDevice_t device, unsigned int link, nvmlIntNvLinkDeviceType_t *type);
nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t a, nvmlDevice_t b,
                                                 nvmlGpuTopologyLevel_t *level);
nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t a, nvmlDevice_t b,
                                    nvmlGpuP2PCapsIndex_t index,
                                    nvmlGpuP2PStatus_t   *status);

#ifdef __cplusplus
}
#endif

#endif
