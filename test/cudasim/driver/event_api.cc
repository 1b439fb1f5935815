/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "driver/handles.h"

using namespace cudasim;

CUDASIM_EXPORT CUresult CUDAAPI cuEventCreate(CUevent *event, unsigned flags)
{
    CUDASIM_DRIVER(driver);
    CUDASIM_CONTEXT(context);
    if (flags & CU_EVENT_INTERPROCESS) {
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    *event = Events::get().add(new CUevent_st{context, flags, {}});
    return CUDA_SUCCESS;
}

CUDASIM_EXPORT CUresult CUDAAPI cuEventDestroy(CUevent event)
{
    CUDASIM_DRIVER(driver);
    if (!Events::get().remove(event)) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    delete event; /* what waits for it holds the recording itself */
    return CUDA_SUCCESS;
}

CUDASIM_EXPORT CUresult CUDAAPI cuEventRecord(CUevent event, CUstream handle)
{
    StreamRef stream;
    CUresult  result = find_stream(handle, stream);
    if (result != CUDA_SUCCESS) {
        return result;
    }
    if (!Events::get().has(event)) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    auto mark = std::make_shared<Mark>();
    {
        std::lock_guard guard(event->mutex);
        event->mark = mark;
    }
    Driver::get()->engine.push(stream, Record{mark});
    return CUDA_SUCCESS;
}

CUDASIM_EXPORT CUresult CUDAAPI cuEventRecordWithFlags(CUevent  event,
                                                       CUstream stream, unsigned)
{
    return cuEventRecord(event, stream);
}

CUDASIM_EXPORT CUresult CUDAAPI cuEventQuery(CUevent event)
{
    CUDASIM_DRIVER(driver);
    if (!Events::get().has(event)) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    MarkRef mark = event->last();
    if (mark != nullptr && !mark->done.load()) {
        return CUDA_ERROR_NOT_READY;
    }
    return static_cast<CUresult>(event->context->group->error());
}

CUDASIM_EXPORT CUresult CUDAAPI cuEventSynchronize(CUevent event)
{
    CUDASIM_DRIVER(driver);
    if (!Events::get().has(event)) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (Engine::in_call()) {
        return CUDA_ERROR_NOT_PERMITTED;
    }
    MarkRef mark = event->last();
    if (mark != nullptr) {
        driver->engine.wait(mark);
    }
    return static_cast<CUresult>(event->context->group->error());
}

namespace {

CUresult elapsed(float *milliseconds, CUevent from, CUevent to)
{
    CUDASIM_DRIVER(driver);
    if (!Events::get().has(from) || !Events::get().has(to) ||
        ((from->flags | to->flags) & CU_EVENT_DISABLE_TIMING)) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    MarkRef first = from->last(), second = to->last();
    if (first == nullptr || second == nullptr) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (!first->done.load() || !second->done.load()) {
        return CUDA_ERROR_NOT_READY;
    }
    *milliseconds = static_cast<float>(
        (static_cast<double>(second->time_ns.load()) -
         static_cast<double>(first->time_ns.load())) / 1e6);
    return CUDA_SUCCESS;
}

} // namespace

CUDASIM_EXPORT CUresult cudasim_elapsed(float *milliseconds, CUevent from,
                                        CUevent to)
    __asm__("cuEventElapsedTime");
CUresult cudasim_elapsed(float *milliseconds, CUevent from, CUevent to)
{
    return elapsed(milliseconds, from, to);
}

CUDASIM_EXPORT CUresult cudasim_elapsed_v2(float *milliseconds, CUevent from,
                                           CUevent to)
    __asm__("cuEventElapsedTime_v2");
CUresult cudasim_elapsed_v2(float *milliseconds, CUevent from, CUevent to)
{
    return elapsed(milliseconds, from, to);
}
