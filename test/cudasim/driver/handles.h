/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_CUDASIM_HANDLES_H
#define FUSELINK_CUDASIM_HANDLES_H

#include "driver/context.h"

#include <mutex>
#include <unordered_set>

struct CUstream_st {
    cudasim::StreamRef stream;
    CUcontext          context;
    unsigned           flags;
    int                priority;
    uint64_t           id;
};

struct CUevent_st {
    CUcontext context;
    unsigned  flags;

    std::mutex       mutex;
    cudasim::MarkRef mark = nullptr; /* the last recording */

    cudasim::MarkRef last()
    {
        std::lock_guard guard(mutex);
        return mark;
    }
};

namespace cudasim {

/** The handles that have been given out, so that wrong ones are refused. */
template <typename Handle> class Registry {
public:
    static Registry &get()
    {
        static Registry *registry = new Registry;
        return *registry;
    }
    Handle add(Handle handle)
    {
        std::lock_guard guard(mutex_);
        handles_.insert(handle);
        return handle;
    }
    bool has(Handle handle)
    {
        std::lock_guard guard(mutex_);
        return handles_.count(handle) != 0;
    }
    bool remove(Handle handle)
    {
        std::lock_guard guard(mutex_);
        return handles_.erase(handle) != 0;
    }

private:
    std::mutex                 mutex_;
    std::unordered_set<Handle> handles_;
};

using Streams = Registry<CUstream>;
using Events  = Registry<CUevent>;

/** The engine's stream of a handle, which may be one of the special ones. */
CUresult find_stream(CUstream handle, StreamRef &stream);

} // namespace cudasim

#endif
