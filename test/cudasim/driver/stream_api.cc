/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "driver/handles.h"

#include <atomic>

using namespace cudasim;

namespace {

std::atomic<uint64_t> next_id{1};

/* A thread's own default stream, one for each context it used it in. */
struct OwnStream {
    CUcontext context;
    StreamRef stream;
};

StreamRef own_stream(Driver &driver, CUcontext context)
{
    thread_local std::vector<OwnStream> own;
    for (const OwnStream &known : own) {
        if (known.context == context) {
            return known.stream;
        }
    }
    own.push_back({context, driver.engine.make_stream(*context->group, true)});
    return own.back().stream;
}

} // namespace

CUresult cudasim::find_stream(CUstream handle, StreamRef &stream)
{
    CUDASIM_DRIVER(driver);
    CUDASIM_CONTEXT(context);
    if (handle == nullptr || handle == CU_STREAM_LEGACY) {
        stream = driver->engine.default_stream(*context->group);
        return CUDA_SUCCESS;
    }
    if (handle == CU_STREAM_PER_THREAD) {
        stream = own_stream(*driver, context);
        return CUDA_SUCCESS;
    }
    if (!Streams::get().has(handle)) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    stream = handle->stream;
    return static_cast<CUresult>(stream->group().error());
}

CUDASIM_EXPORT CUresult CUDAAPI cuStreamCreateWithPriority(CUstream *stream,
                                                           unsigned  flags,
                                                           int       priority)
{
    CUDASIM_DRIVER(driver);
    CUDASIM_CONTEXT(context);
    if (flags > CU_STREAM_NON_BLOCKING) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    auto made = driver->engine.make_stream(*context->group, flags == 0);
    *stream   = Streams::get().add(
        new CUstream_st{made, context, flags, priority, next_id++});
    return CUDA_SUCCESS;
}

CUDASIM_EXPORT CUresult CUDAAPI cuStreamCreate(CUstream *stream, unsigned flags)
{
    return cuStreamCreateWithPriority(stream, flags, 0);
}

CUDASIM_EXPORT CUresult CUDAAPI cuStreamDestroy(CUstream stream)
{
    CUDASIM_DRIVER(driver);
    if (!Streams::get().remove(stream)) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    driver->engine.end_stream(stream->stream);
    delete stream;
    return CUDA_SUCCESS;
}

CUDASIM_EXPORT CUresult CUDAAPI cuStreamQuery(CUstream handle)
{
    StreamRef stream;
    CUresult  result = find_stream(handle, stream);
    if (result == CUDA_SUCCESS && !Driver::get()->engine.idle(stream)) {
        result = CUDA_ERROR_NOT_READY;
    }
    return result;
}

CUDASIM_EXPORT CUresult CUDAAPI cuStreamSynchronize(CUstream handle)
{
    if (Engine::in_call()) {
        return CUDA_ERROR_NOT_PERMITTED;
    }
    StreamRef stream;
    CUresult  result = find_stream(handle, stream);
    if (result != CUDA_SUCCESS) {
        return result;
    }
    Driver::get()->engine.wait(stream);
    return static_cast<CUresult>(stream->group().error());
}

CUDASIM_EXPORT CUresult CUDAAPI cuStreamWaitEvent(CUstream handle, CUevent event,
                                                  unsigned)
{
    StreamRef stream;
    CUresult  result = find_stream(handle, stream);
    if (result != CUDA_SUCCESS) {
        return result;
    }
    if (!Events::get().has(event)) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    MarkRef mark = event->last();
    if (mark != nullptr) {
        Driver::get()->engine.push(stream, Await{mark});
    }
    return CUDA_SUCCESS;
}

CUDASIM_EXPORT CUresult CUDAAPI cuStreamAddCallback(CUstream         handle,
                                                    CUstreamCallback callback,
                                                    void *argument, unsigned)
{
    StreamRef stream;
    CUresult  result = find_stream(handle, stream);
    if (result == CUDA_SUCCESS) {
        Driver::get()->engine.push(stream, Call{[=] {
            callback(handle, CUDA_SUCCESS, argument);
        }});
    }
    return result;
}

CUDASIM_EXPORT CUresult CUDAAPI cuLaunchHostFunc(CUstream handle,
                                                 CUhostFn function,
                                                 void    *argument)
{
    StreamRef stream;
    CUresult  result = find_stream(handle, stream);
    if (result == CUDA_SUCCESS) {
        Driver::get()->engine.push(stream, Call{[=] { function(argument); }});
    }
    return result;
}

CUDASIM_EXPORT CUresult CUDAAPI cuStreamGetFlags(CUstream stream,
                                                 unsigned *flags)
{
    CUDASIM_DRIVER(driver);
    *flags = Streams::get().has(stream) ? stream->flags : 0;
    return CUDA_SUCCESS;
}

CUDASIM_EXPORT CUresult CUDAAPI cuStreamGetPriority(CUstream stream,
                                                    int     *priority)
{
    CUDASIM_DRIVER(driver);
    *priority = Streams::get().has(stream) ? stream->priority : 0;
    return CUDA_SUCCESS;
}

CUDASIM_EXPORT CUresult CUDAAPI cuStreamGetCtx(CUstream   stream,
                                               CUcontext *context)
{
    CUDASIM_DRIVER(driver);
    CUDASIM_CONTEXT(current);
    *context = Streams::get().has(stream) ? stream->context : current;
    return CUDA_SUCCESS;
}

CUDASIM_EXPORT CUresult CUDAAPI cuStreamGetId(CUstream            stream,
                                              unsigned long long *id)
{
    CUDASIM_DRIVER(driver);
    *id = Streams::get().has(stream) ? stream->id : 0;
    return CUDA_SUCCESS;
}

CUDASIM_EXPORT CUresult CUDAAPI cuStreamIsCapturing(
    CUstream, CUstreamCaptureStatus *status)
{
    CUDASIM_DRIVER(driver);
    *status = CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
}
