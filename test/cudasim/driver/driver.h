/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_CUDASIM_DRIVER_H
#define FUSELINK_CUDASIM_DRIVER_H

#include <cuda.h>
#include <memory>
#include <string>
#include <sys/types.h>
#include <vector>

#include "sim/engine.h"
#include "sim/faults.h"
#include "sim/memory.h"
#include "sim/node.h"
#include "sim/topology.h"

/* What begins a function that programs find. */
#define CUDASIM_EXPORT extern "C" __attribute__((visibility("default")))

namespace cudasim {

/**
 * The emulated driver of this process. Made by the first cuInit and never
 * taken down: libraries call the driver from destructors at exit.
 */
class Driver {
public:
    /** Makes it if need be. */
    static CUresult init();
    /** nullptr before init(), and in the child of a fork: it has neither the
     *  driver's threads nor, as with the real one, a driver. */
    static Driver *get();

    Topology topology;
    Node    &node;
    Memory   memory;
    Engine   engine;
    Faults   faults;

    /** Devices that CUDA_VISIBLE_DEVICES leaves, by CUdevice. */
    int device_count() const { return static_cast<int>(visible_.size()); }
    bool is_device(CUdevice device) const
    {
        return device >= 0 && device < device_count();
    }
    /** The number in the topology. */
    int gpu_of(CUdevice device) const { return visible_[device]; }
    /** -1 if it is not visible: another process's. */
    CUdevice device_of(int gpu) const;
    CUuuid   uuid(int gpu) const;

    /** May a GPU reach another's memory, by the topology and the faults? */
    bool peers(int a, int b);
    Route route(int from, int to);

private:
    Driver(Topology read, Node &shared, Engine::Options options);
    static CUresult make();
    static bool     read_switch(const char *name, bool &on);
    static bool     read_options(Engine::Options &options);
    bool            read_visible(std::string &error);

    std::vector<int> visible_;
    pid_t            pid_;
};

/** Leaves FUNCTION if there is no driver. */
#define CUDASIM_DRIVER(_name)                    \
    cudasim::Driver *_name = cudasim::Driver::get(); \
    if (_name == nullptr) {                      \
        return CUDA_ERROR_NOT_INITIALIZED;       \
    }

} // namespace cudasim

#endif
