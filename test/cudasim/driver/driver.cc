/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "driver.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <sstream>
#include <unistd.h>

#include "sim/identity.h"
#include "sim/mapping.h"

namespace cudasim {
namespace {

std::atomic<Driver *> the_driver{nullptr};

void complain(const std::string &text)
{
    fprintf(stderr, "cudasim: %s\n", text.c_str());
}

} // namespace

Driver::Driver(Topology read, Node &shared, Engine::Options options)
    : topology(std::move(read)),
      node(shared),
      memory(topology, node),
      engine(node, options),
      pid_(getpid())
{
}

Driver *Driver::get()
{
    Driver *driver = the_driver.load(std::memory_order_acquire);
    return driver != nullptr && driver->pid_ == getpid() ? driver : nullptr;
}

CUresult Driver::init()
{
    static std::mutex mutex;
    static CUresult   result = CUDA_ERROR_NOT_INITIALIZED;
    std::lock_guard   guard(mutex);
    if (the_driver.load() != nullptr) {
        return get() != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
    }
    if (result == CUDA_ERROR_NOT_INITIALIZED) {
        result = make(); /* complains once */
    }
    return result;
}

CUresult Driver::make()
{
    const char *file = getenv("CUDASIM_TOPOLOGY");
    std::string error;
    if (file == nullptr || *file == '\0') {
        complain("CUDASIM_TOPOLOGY is not set; it names the topology file");
        return CUDA_ERROR_NO_DEVICE;
    }
    auto topology = Topology::load(file, error);
    if (!topology) {
        complain("CUDASIM_TOPOLOGY=" + error);
        return CUDA_ERROR_NO_DEVICE;
    }
    const char *gpus = getenv("CUDASIM_GPUS");
    if (gpus != nullptr && *gpus != '\0') {
        char         *end;
        unsigned long count = strtoul(gpus, &end, 10);
        if (*end != '\0' || count > kMaxGpus ||
            !topology->keep(static_cast<unsigned>(count))) {
            complain(std::string("CUDASIM_GPUS=") + gpus + ": accepted: 1 to " +
                     std::to_string(topology->gpus().size()) +
                     ", the GPUs of " + file);
            return CUDA_ERROR_NO_DEVICE;
        }
    }
    auto node = Node::open(*topology, Node::Role::User, error);
    if (node == nullptr) {
        complain("no shared memory: " + error);
        return CUDA_ERROR_OPERATING_SYSTEM;
    }
    Engine::Options options;
    options.latency_ns = topology->latency_ns();
    if (!read_options(options)) {
        return CUDA_ERROR_NO_DEVICE;
    }
    auto driver = new Driver(std::move(*topology), *node.release(), options);
    const char *faults = getenv("CUDASIM_FAULTS");
    if (faults != nullptr && !driver->faults.set(faults, error)) {
        complain("CUDASIM_FAULTS: " + error);
        return CUDA_ERROR_NO_DEVICE;
    }
    if (!driver->read_visible(error)) {
        complain("CUDA_VISIBLE_DEVICES: " + error);
        return CUDA_ERROR_NO_DEVICE;
    }
    if (driver->device_count() == 0) {
        return CUDA_ERROR_NO_DEVICE;
    }
    the_driver.store(driver, std::memory_order_release);
    return CUDA_SUCCESS;
}

/* 1 or, as if it were not there, 0. */
bool Driver::read_switch(const char *name, bool &on)
{
    const char *text = getenv(name);
    if (text != nullptr && strcmp(text, "0") != 0 && strcmp(text, "1") != 0) {
        complain(std::string(name) + "=" + text + ": accepted: 0, 1");
        return false;
    }
    on = text != nullptr && *text == '1';
    return true;
}

bool Driver::read_options(Engine::Options &options)
{
    const char *jitter  = getenv("CUDASIM_JITTER");
    bool        peermem = false;
    if (!read_switch("CUDASIM_REALTIME", options.realtime) ||
        !read_switch("CUDASIM_PEERMEM", peermem)) {
        return false;
    }
    if (peermem) {
        Mapping::let_nics();
    }
    if (jitter != nullptr && *jitter != '\0') {
        auto time = parse_time(jitter);
        if (!time || *time > 1000000000) {
            complain(std::string("CUDASIM_JITTER=") + jitter +
                     ": accepted: a time up to 1000ms, such as 500us");
            return false;
        }
        options.jitter_ns = *time;
    }
    return true;
}

/* As CUDA: numbers or the beginnings of UUIDs, up to the first that is not
 * there. */
bool Driver::read_visible(std::string &error)
{
    const int   count = static_cast<int>(topology.gpus().size());
    const char *text  = getenv("CUDA_VISIBLE_DEVICES");
    if (text == nullptr) {
        for (int gpu = 0; gpu < count; ++gpu) {
            visible_.push_back(gpu);
        }
        return true;
    }
    std::istringstream in(text);
    for (std::string word; std::getline(in, word, ',');) {
        int   found = -1;
        char *end;
        long  value = strtol(word.c_str(), &end, 10);
        if (end != word.c_str() && *end == '\0') {
            found = value >= 0 && value < count ? static_cast<int>(value) : -1;
        } else if (word.starts_with("GPU-")) {
            for (int gpu = 0; gpu < count && found < 0; ++gpu) {
                found = gpu_uuid_text(gpu).starts_with(word) ? gpu : -1;
            }
        }
        if (found < 0) {
            break;
        }
        if (device_of(found) >= 0) {
            error = "'" + word + "' occurs twice";
            return false;
        }
        visible_.push_back(found);
    }
    return true;
}

CUdevice Driver::device_of(int gpu) const
{
    for (size_t i = 0; i < visible_.size(); ++i) {
        if (visible_[i] == gpu) {
            return static_cast<CUdevice>(i);
        }
    }
    return -1;
}

CUuuid Driver::uuid(int gpu) const
{
    CUuuid uuid;
    memcpy(uuid.bytes, gpu_uuid(gpu).data(), sizeof(uuid.bytes));
    return uuid;
}

bool Driver::peers(int a, int b)
{
    return topology.peers(a, b) && !faults.hits(Fault::Peer, a, b);
}

Route Driver::route(int from, int to)
{
    bool between = from != to && from != kHost && to != kHost;
    return topology.route(from, to, !between || peers(from, to));
}

} // namespace cudasim
