/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "gpu_context.h"

#include <dlfcn.h>

namespace fuselink {
namespace {

/* Of libcuda.so.1, whose interface is stable: results are 0 if well. */
struct Driver {
    int (*get_current)(void **)        = nullptr;
    int (*set_current)(void *)         = nullptr;
    int (*get_device)(int *)           = nullptr;
    int (*get_uuid)(void *, int)       = nullptr;
    int (*get_memory)(size_t *, size_t *) = nullptr;
    int (*exchange_capture_mode)(int *)   = nullptr;
    int (*get_handle)(GpuContext::Handle *, uint64_t)              = nullptr;
    int (*open_handle)(uint64_t *, GpuContext::Handle, unsigned)   = nullptr;
    int (*close_handle)(uint64_t)                                  = nullptr;

    Driver()
    {
        /* UCX's modules have loaded it, or there are no GPUs. */
        void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
        if (library == nullptr) {
            return;
        }
        find(library, "cuCtxGetCurrent", get_current);
        find(library, "cuCtxSetCurrent", set_current);
        find(library, "cuCtxGetDevice", get_device);
        find(library, "cuDeviceGetUuid", get_uuid);
        find(library, "cuMemGetInfo_v2", get_memory);
        find(library, "cuThreadExchangeStreamCaptureMode",
             exchange_capture_mode);
        find(library, "cuIpcGetMemHandle", get_handle);
        if (!find(library, "cuIpcOpenMemHandle_v2", open_handle)) {
            find(library, "cuIpcOpenMemHandle", open_handle);
        }
        find(library, "cuIpcCloseMemHandle", close_handle);
    }

    template <typename Fn>
    static bool find(void *library, const char *name, Fn &fn)
    {
        fn = reinterpret_cast<Fn>(dlsym(library, name));
        return fn != nullptr;
    }
};

const Driver &driver()
{
    static const Driver one;
    return one;
}

} // namespace

GpuContext GpuContext::current()
{
    GpuContext context;
    if (driver().get_current == nullptr ||
        driver().get_current(&context.handle_) != 0) {
        context.handle_ = nullptr;
    }
    return context;
}

bool GpuContext::enter() const
{
    if (driver().set_current == nullptr ||
        driver().set_current(handle_) != 0) {
        return false;
    }
    int mode = 2; /* CU_STREAM_CAPTURE_MODE_RELAXED */
    return driver().exchange_capture_mode == nullptr ||
           driver().exchange_capture_mode(&mode) == 0;
}

bool GpuContext::uuid(Uuid &uuid)
{
    int device;
    return driver().get_device != nullptr && driver().get_uuid != nullptr &&
           driver().get_device(&device) == 0 &&
           driver().get_uuid(uuid.data(), device) == 0;
}

void GpuContext::memory(uint64_t &left, uint64_t &total)
{
    size_t free = 0, all = 0;
    if (driver().get_memory == nullptr ||
        driver().get_memory(&free, &all) != 0) {
        free = all = 0;
    }
    left  = free;
    total = all;
}

bool GpuContext::export_memory(const void *memory, Handle &handle)
{
    return driver().get_handle != nullptr &&
           driver().get_handle(&handle, reinterpret_cast<uintptr_t>(memory)) == 0;
}

void *GpuContext::map(const Handle &handle)
{
    uint64_t           address;
    constexpr unsigned kPeerAccess = 1; /* CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS */
    return driver().open_handle != nullptr &&
                   driver().open_handle(&address, handle, kPeerAccess) == 0 ?
               reinterpret_cast<void *>(address) : nullptr;
}

void GpuContext::unmap(void *memory)
{
    if (driver().close_handle != nullptr) {
        driver().close_handle(reinterpret_cast<uintptr_t>(memory));
    }
}

} // namespace fuselink
