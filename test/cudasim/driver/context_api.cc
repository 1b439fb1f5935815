/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "driver/context.h"

using namespace cudasim;

namespace {

/* A device that the driver has. */
CUresult check(CUdevice device)
{
    CUDASIM_DRIVER(driver);
    return driver->is_device(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult create(CUcontext *context, unsigned flags, CUdevice device)
{
    CUresult result = check(device);
    if (result == CUDA_SUCCESS) {
        *context = Contexts::get().create(device, flags);
        result   = Contexts::push(*context) ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
    }
    return result;
}

} // namespace

CUDASIM_EXPORT CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext *context,
                                                         CUdevice   device)
{
    CUresult result = check(device);
    if (result == CUDA_SUCCESS) {
        *context = Contexts::get().retain_primary(device);
    }
    return result;
}

CUDASIM_EXPORT CUresult CUDAAPI cuDevicePrimaryCtxRelease(CUdevice device)
{
    CUresult result = check(device);
    if (result == CUDA_SUCCESS && !Contexts::get().release_primary(device)) {
        result = CUDA_ERROR_INVALID_CONTEXT;
    }
    return result;
}

CUDASIM_EXPORT CUresult CUDAAPI cuDevicePrimaryCtxReset(CUdevice device)
{
    CUresult result = check(device);
    if (result == CUDA_SUCCESS) {
        Contexts::get().reset_primary(device);
    }
    return result;
}

CUDASIM_EXPORT CUresult CUDAAPI cuDevicePrimaryCtxSetFlags(CUdevice device,
                                                           unsigned flags)
{
    CUresult result = check(device);
    if (result == CUDA_SUCCESS) {
        Contexts::get().set_primary_flags(device, flags);
    }
    return result;
}

CUDASIM_EXPORT CUresult CUDAAPI cuDevicePrimaryCtxGetState(CUdevice  device,
                                                           unsigned *flags,
                                                           int      *active)
{
    CUresult result = check(device);
    if (result == CUDA_SUCCESS) {
        *flags  = Contexts::get().primary_flags(device);
        *active = Contexts::get().primary(device) != nullptr;
    }
    return result;
}

/* What is beyond flags and device (affinity, CIG) has no meaning here. */
CUDASIM_EXPORT CUresult cudasim_ctx_create_v2(CUcontext *context, unsigned flags,
                                              CUdevice device)
    __asm__("cuCtxCreate_v2");
CUresult cudasim_ctx_create_v2(CUcontext *context, unsigned flags,
                               CUdevice device)
{
    return create(context, flags, device);
}

CUDASIM_EXPORT CUresult cudasim_ctx_create_v3(CUcontext *context, void *, int,
                                              unsigned flags, CUdevice device)
    __asm__("cuCtxCreate_v3");
CUresult cudasim_ctx_create_v3(CUcontext *context, void *, int, unsigned flags,
                               CUdevice device)
{
    return create(context, flags, device);
}

CUDASIM_EXPORT CUresult cudasim_ctx_create_v4(CUcontext *context, void *,
                                              unsigned flags, CUdevice device)
    __asm__("cuCtxCreate_v4");
CUresult cudasim_ctx_create_v4(CUcontext *context, void *, unsigned flags,
                               CUdevice device)
{
    return create(context, flags, device);
}

CUDASIM_EXPORT CUresult CUDAAPI cuCtxDestroy(CUcontext context)
{
    CUDASIM_DRIVER(driver);
    return Contexts::get().destroy(context) ? CUDA_SUCCESS :
                                              CUDA_ERROR_INVALID_CONTEXT;
}

CUDASIM_EXPORT CUresult CUDAAPI cuCtxGetCurrent(CUcontext *context)
{
    CUDASIM_DRIVER(driver);
    *context = Contexts::current();
    return CUDA_SUCCESS;
}

CUDASIM_EXPORT CUresult CUDAAPI cuCtxSetCurrent(CUcontext context)
{
    CUDASIM_DRIVER(driver);
    if (context != nullptr && !Contexts::get().valid(context)) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    Contexts::set_current(context);
    return CUDA_SUCCESS;
}

CUDASIM_EXPORT CUresult CUDAAPI cuCtxPushCurrent(CUcontext context)
{
    CUDASIM_DRIVER(driver);
    if (!Contexts::get().valid(context)) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    return Contexts::push(context) ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
}

CUDASIM_EXPORT CUresult CUDAAPI cuCtxPopCurrent(CUcontext *context)
{
    CUDASIM_DRIVER(driver);
    CUcontext top = Contexts::pop();
    if (top == nullptr) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    if (context != nullptr) {
        *context = top;
    }
    return CUDA_SUCCESS;
}

CUDASIM_EXPORT CUresult CUDAAPI cuCtxGetDevice(CUdevice *device)
{
    CUDASIM_DRIVER(driver);
    CUcontext context = Contexts::current();
    if (context == nullptr) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    *device = context->device;
    return CUDA_SUCCESS;
}

CUDASIM_EXPORT CUresult CUDAAPI cuCtxGetFlags(unsigned *flags)
{
    CUDASIM_DRIVER(driver);
    CUDASIM_CONTEXT(context);
    *flags = context->flags;
    return CUDA_SUCCESS;
}

CUDASIM_EXPORT CUresult CUDAAPI cuCtxGetApiVersion(CUcontext, unsigned *version)
{
    CUDASIM_DRIVER(driver);
    *version = 3020;
    return CUDA_SUCCESS;
}

CUDASIM_EXPORT CUresult CUDAAPI cuCtxSynchronize(void)
{
    CUDASIM_DRIVER(driver);
    if (Engine::in_call()) {
        return CUDA_ERROR_NOT_PERMITTED;
    }
    CUDASIM_CONTEXT(context);
    driver->engine.wait(*context->group);
    return static_cast<CUresult>(context->group->error());
}

CUDASIM_EXPORT CUresult CUDAAPI cuCtxGetStreamPriorityRange(int *least,
                                                            int *greatest)
{
    CUDASIM_DRIVER(driver);
    CUDASIM_CONTEXT(context);
    if (least != nullptr) {
        *least = 0;
    }
    if (greatest != nullptr) {
        *greatest = 0; /* priorities have no meaning here */
    }
    return CUDA_SUCCESS;
}

CUDASIM_EXPORT CUresult CUDAAPI cuCtxEnablePeerAccess(CUcontext peer,
                                                      unsigned  flags)
{
    CUDASIM_DRIVER(driver);
    CUDASIM_CONTEXT(context);
    if (flags != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (!Contexts::get().valid(peer) || peer == context) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    if (peer->gpu == context->gpu || !driver->peers(context->gpu, peer->gpu)) {
        return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
    }
    std::lock_guard guard(context->mutex);
    return context->peers.insert(peer->gpu).second ?
               CUDA_SUCCESS :
               CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
}

CUDASIM_EXPORT CUresult CUDAAPI cuCtxDisablePeerAccess(CUcontext peer)
{
    CUDASIM_DRIVER(driver);
    CUDASIM_CONTEXT(context);
    if (!Contexts::get().valid(peer)) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    std::lock_guard guard(context->mutex);
    return context->peers.erase(peer->gpu) != 0 ?
               CUDA_SUCCESS :
               CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
}
