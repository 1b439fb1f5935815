/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
/* Entry into the driver: init, version, names of errors, look-up. */
#include "driver/driver.h"

#include <dlfcn.h>
#include <string>

using namespace cudasim;

CUDASIM_EXPORT CUresult CUDAAPI cuInit(unsigned flags)
{
    return flags == 0 ? Driver::init() : CUDA_ERROR_INVALID_VALUE;
}

CUDASIM_EXPORT CUresult CUDAAPI cuDriverGetVersion(int *version)
{
    if (version == nullptr) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *version = CUDA_VERSION;
    return CUDA_SUCCESS;
}

namespace {

struct ErrorText {
    CUresult    code;
    const char *name, *text;
};

#define CUDASIM_ERROR(_code, _text) {_code, #_code, _text}
constexpr ErrorText kErrors[] = {
    CUDASIM_ERROR(CUDA_SUCCESS, "no error"),
    CUDASIM_ERROR(CUDA_ERROR_INVALID_VALUE, "invalid argument"),
    CUDASIM_ERROR(CUDA_ERROR_OUT_OF_MEMORY, "out of memory"),
    CUDASIM_ERROR(CUDA_ERROR_NOT_INITIALIZED, "initialization error"),
    CUDASIM_ERROR(CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected"),
    CUDASIM_ERROR(CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal"),
    CUDASIM_ERROR(CUDA_ERROR_INVALID_CONTEXT, "invalid device context"),
    CUDASIM_ERROR(CUDA_ERROR_ALREADY_MAPPED, "already mapped"),
    CUDASIM_ERROR(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED,
                  "peer access is not supported between these two devices"),
    CUDASIM_ERROR(CUDA_ERROR_OPERATING_SYSTEM, "operating system error"),
    CUDASIM_ERROR(CUDA_ERROR_INVALID_HANDLE, "invalid resource handle"),
    CUDASIM_ERROR(CUDA_ERROR_NOT_FOUND, "named symbol not found"),
    CUDASIM_ERROR(CUDA_ERROR_NOT_READY, "device not ready"),
    CUDASIM_ERROR(CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access"),
    CUDASIM_ERROR(CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure"),
    CUDASIM_ERROR(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED,
                  "peer access is already enabled"),
    CUDASIM_ERROR(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED,
                  "peer access has not been enabled"),
    CUDASIM_ERROR(CUDA_ERROR_CONTEXT_IS_DESTROYED, "context is destroyed"),
    CUDASIM_ERROR(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
                  "part or all of the memory is already registered"),
    CUDASIM_ERROR(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED,
                  "the memory is not registered"),
    CUDASIM_ERROR(CUDA_ERROR_NOT_PERMITTED, "operation not permitted"),
    CUDASIM_ERROR(CUDA_ERROR_NOT_SUPPORTED,
                  "operation not supported (by the emulated driver)"),
    CUDASIM_ERROR(CUDA_ERROR_UNKNOWN, "unknown error"),
};

const ErrorText *find_error(CUresult code)
{
    for (const ErrorText &error : kErrors) {
        if (error.code == code) {
            return &error;
        }
    }
    return nullptr;
}

} // namespace

CUDASIM_EXPORT CUresult CUDAAPI cuGetErrorString(CUresult code,
                                                 const char **text)
{
    const ErrorText *error = find_error(code);
    *text = error != nullptr ? error->text : nullptr;
    return error != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUDASIM_EXPORT CUresult CUDAAPI cuGetErrorName(CUresult code, const char **name)
{
    const ErrorText *error = find_error(code);
    *name = error != nullptr ? error->name : nullptr;
    return error != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

namespace {

/* Asked for by the first name of a function; the newest there is. */
CUresult look_up(const char *symbol, void **address)
{
    static void *self = [] {
        Dl_info info;
        dladdr(reinterpret_cast<void *>(&find_error), &info);
        return dlopen(info.dli_fname, RTLD_NOLOAD | RTLD_NOW);
    }();
    if (symbol == nullptr || address == nullptr || self == nullptr) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    for (const char *version : {"_v4", "_v3", "_v2", ""}) {
        *address = dlsym(self, (std::string(symbol) + version).c_str());
        if (*address != nullptr) {
            return CUDA_SUCCESS;
        }
    }
    return CUDA_ERROR_NOT_FOUND;
}

} // namespace

CUDASIM_EXPORT CUresult cudasim_get_proc_address(const char *symbol,
                                                 void **address, int, cuuint64_t)
    __asm__("cuGetProcAddress");
CUresult cudasim_get_proc_address(const char *symbol, void **address, int,
                                  cuuint64_t)
{
    return look_up(symbol, address);
}

CUDASIM_EXPORT CUresult cudasim_get_proc_address_v2(const char *symbol,
                                                    void **address, int,
                                                    cuuint64_t, int *status)
    __asm__("cuGetProcAddress_v2");
CUresult cudasim_get_proc_address_v2(const char *symbol, void **address, int,
                                     cuuint64_t, int *status)
{
    CUresult result = look_up(symbol, address);
    if (status != nullptr) {
        *status = result == CUDA_SUCCESS ? 0 : 1; /* found, or not */
    }
    /* Not finding one is no error of this version: the status says it. */
    return status != nullptr && result == CUDA_ERROR_NOT_FOUND ? CUDA_SUCCESS :
                                                                 result;
}
