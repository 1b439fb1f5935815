/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "machine.h"

#include "../topology.h"
#include "file.h"
#include "nvml_reader.h"

namespace fuselink::topology {
namespace {

constexpr const char *kNvml = "libnvidia-ml.so.1";

const PciDevice *find(const PciTree &bus, const Nic &nic)
{
    for (const auto &name : nic.names) {
        if (const auto *device = bus.find(name)) {
            return device;
        }
    }
    return nullptr;
}

/* NVML's if there are any: what else shows pictures is no business of CUDA. */
void add_gpus(const NvmlCalls *nvml, const PciTree &bus, Devices &devices)
{
    if (nvml != nullptr) {
        NvmlReader(*nvml).add_gpus(devices);
    }
    bool only_bus = devices.gpus() == 0;
    for (const auto &device : bus.devices) {
        auto known = devices.find_gpu(device.address);
        if (!known && only_bus && device.is_gpu()) {
            Gpu gpu;
            gpu.address = device.address;
            gpu.name    = device.name;
            devices.add(std::move(gpu));
            known = devices.find_gpu(device.address);
        }
        if (known) {
            Gpu &gpu      = devices.gpu(*known);
            gpu.numa_node = device.numa_node;
            /* NVML says what card and slot can do, hwloc what they do at this
             * moment, which is less while a GPU saves power. */
            gpu.pcie = gpu.pcie > 0 ? gpu.pcie : device.rate;
        }
    }
}

void connect(const PciTree &bus, Devices &devices)
{
    for (size_t i = 0; i < devices.gpus(); ++i) {
        const PciDevice *gpu = bus.find(devices.gpu(i).address);
        if (gpu == nullptr) {
            continue;
        }
        for (size_t j = i + 1; j < devices.gpus(); ++j) {
            if (const auto *other = bus.find(devices.gpu(j).address)) {
                devices.set_between_gpus(i, j, bus.connection(*gpu, *other));
            }
        }
        for (size_t j = 0; j < devices.nics(); ++j) {
            if (const auto *nic = find(bus, devices.nic(j))) {
                devices.set_to_nic(i, j, bus.connection(*gpu, *nic));
            }
        }
    }
}

} // namespace

bool read(const Sources &sources, Devices &devices, std::string &error)
{
    File file;
    if (!sources.file.empty() && !File::load(sources.file, file, error)) {
        error = sources.file + ": " + error;
        return false;
    }
    const PciTree &bus = sources.bus;
    devices            = Devices();
    for (Nic &nic : join_nics(sources.nics, bus)) {
        devices.add(std::move(nic));
    }
    add_gpus(sources.nvml, bus, devices);
    if (!file.declare(devices, error)) {
        error = sources.file + ": " + error;
        return false;
    }
    devices.number();
    connect(bus, devices);
    if (sources.nvml != nullptr) {
        NvmlReader(*sources.nvml).connect(devices);
    }
    if (!file.apply(devices, error)) {
        error = sources.file + ": " + error;
        return false;
    }
    return true;
}

bool read_this(const std::string &file, Devices &devices, std::string &error)
{
    Sources sources;
    Nvml    nvml(kNvml);
    Topology::machine().read_bus(sources.bus);
    sources.nics = list_nics();
    sources.nvml = nvml.calls();
    sources.file = file;
    bool ok      = read(sources, devices, error);
    if (ok && !nvml.why().empty()) {
        devices.notes.push_back(nvml.why());
    }
    return ok;
}

} // namespace fuselink::topology
