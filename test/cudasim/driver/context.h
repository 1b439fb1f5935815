/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_CUDASIM_CONTEXT_H
#define FUSELINK_CUDASIM_CONTEXT_H

#include "driver/driver.h"

#include <mutex>
#include <set>

/** The type that cuda.h declares and leaves to the driver. */
struct CUctx_st {
    CUdevice                        device;
    int                             gpu;
    bool                            primary;
    unsigned                        flags;
    uint64_t                        id;
    std::shared_ptr<cudasim::Group> group;

    std::mutex    mutex;
    std::set<int> peers; /* GPUs whose memory it has been given access to */
};

namespace cudasim {

/** Contexts of the process; each thread has a stack of them. */
class Contexts {
public:
    static Contexts &get();

    CUcontext create(CUdevice device, unsigned flags);
    bool      destroy(CUcontext context);
    bool      valid(CUcontext context);

    CUcontext retain_primary(CUdevice device);
    bool      release_primary(CUdevice device);
    void      reset_primary(CUdevice device);
    /** nullptr if nobody has retained it. */
    CUcontext primary(CUdevice device);
    unsigned  primary_flags(CUdevice device);
    void      set_primary_flags(CUdevice device, unsigned flags);

    /** Of this thread; nullptr if there is none. */
    static CUcontext current();
    static void      set_current(CUcontext context);
    static bool      push(CUcontext context); /* false: too deep */
    static CUcontext pop();

private:
    struct Primary {
        CUcontext context = nullptr;
        unsigned  users   = 0;
        unsigned  flags   = 0;
    };

    CUcontext make(CUdevice device, bool primary, unsigned flags);
    void      drop(CUcontext context);

    std::mutex          mutex_;
    std::set<CUcontext> contexts_;
    Primary             primaries_[kMaxGpus];
    uint64_t            next_id_ = 1;
};

/** Leaves FUNCTION if this thread has no context, or a broken one. */
#define CUDASIM_CONTEXT(_name)                          \
    CUcontext _name = cudasim::Contexts::current();     \
    if (_name == nullptr) {                             \
        return CUDA_ERROR_INVALID_CONTEXT;              \
    }                                                   \
    if (_name->group->error() != 0) {                   \
        return static_cast<CUresult>(_name->group->error()); \
    }

} // namespace cudasim

#endif
