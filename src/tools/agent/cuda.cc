/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "cuda.h"

#include <dlfcn.h>

namespace fuselink::agent {

template <typename Fn> bool Cuda::find(const char *name, Fn &fn)
{
    fn = reinterpret_cast<Fn>(dlsym(library_, name));
    return fn != nullptr;
}

bool Cuda::open(std::string &error)
{
    library_ = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL); /* as UCX needs it */
    if (library_ == nullptr) {
        error = "there is no CUDA driver (libcuda.so.1)";
        return false;
    }
    if (!find("cuInit", init_) || !find("cuDeviceGetCount", get_count_) ||
        !find("cuDeviceGet", get_device_) || !find("cuDeviceGetName", get_name_) ||
        !find("cuDevicePrimaryCtxRetain", retain_) ||
        !find("cuCtxSetCurrent", set_current_)) {
        error = "libcuda.so.1 is no CUDA driver";
        return false;
    }
    int count = 0;
    if (init_(0) != 0 || get_count_(&count) != 0 || count <= 0) {
        error = "CUDA has no GPU";
        return false;
    }
    count_ = static_cast<unsigned>(count);
    return true;
}

bool Cuda::use(unsigned gpu, std::string &error)
{
    int   device;
    void *context;
    if (gpu >= count_ || get_device_(&device, static_cast<int>(gpu)) != 0) {
        error = "there is no such GPU";
        return false;
    }
    if (retain_(&context, device) != 0 || set_current_(context) != 0) {
        error = "CUDA cannot work with it";
        return false;
    }
    return true;
}

std::string Cuda::name(unsigned gpu) const
{
    int  device;
    char text[128] = "";
    return get_device_(&device, static_cast<int>(gpu)) == 0 &&
                   get_name_(text, sizeof(text), device) == 0 ?
               text : "GPU";
}

} // namespace fuselink::agent
