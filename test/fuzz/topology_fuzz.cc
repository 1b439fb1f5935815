/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/*
 * A topology file is written by people. Whatever is in it, it is either taken or
 * refused with one line, and paths over the machine that it makes are sound.
 */

#include "ucs_ext/topology/file.h"
#include "ucs_ext/topology/paths.h"

#include <cstdint>
#include <cstdlib>

using namespace fuselink::topology;

namespace {

void require(bool condition)
{
    if (!condition) {
        abort();
    }
}

void require_line(const std::string &text)
{
    require(!text.empty() && text.size() < 4096);
    for (unsigned char c : text) {
        require(c >= ' ' && c < 0x7f);
    }
}

Devices some_devices()
{
    Devices devices;
    for (unsigned i = 0; i < 3; ++i) {
        Gpu gpu;
        Nic nic;
        gpu.address = {0, i, 0, 0};
        gpu.uuid    = "GPU-" + std::to_string(i);
        nic.names   = {"n" + std::to_string(i)};
        devices.add(gpu);
        devices.add(nic);
    }
    return devices;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    std::string_view text(reinterpret_cast<const char *>(data), size);
    File             file;
    std::string      error;
    if (!File::parse(text, file, error)) {
        require_line(error);
        return 0;
    }
    Devices devices = some_devices();
    bool    ok      = file.declare(devices, error);
    if (ok) {
        devices.number();
        ok = file.apply(devices, error);
    }
    if (!ok) {
        require_line(error);
        return 0;
    }
    for (size_t gpu = 0; gpu < devices.gpus(); ++gpu) {
        auto paths = nic_paths(devices, gpu);
        require(paths.size() == devices.nics());
        for (const auto &path : paths) {
            require(path.best_rate() >= 0);
            for (const auto &relay : path.relays) {
                require(relay.gpu < devices.gpus() && relay.gpu != gpu);
                require(relay.connection < path.connection);
            }
        }
    }
    return 0;
}
