/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_CUDASIM_IDENTITY_H
#define FUSELINK_CUDASIM_IDENTITY_H

#include <array>
#include <cstdint>
#include <string>

namespace cudasim {

/*
 * What a GPU is called. The driver and NVML are two libraries and have to say
 * the same.
 */

/** Of this host; emulated hosts on one machine have one each. */
uint64_t host_number();

/** Different for GPUs of different hosts, also of emulated ones on one machine,
 *  and the same for all processes of a host. */
std::array<char, 16> gpu_uuid(int gpu);
/** GPU-xxxxxxxx-xxxx-... */
std::string gpu_uuid_text(int gpu);

/** PCI bus; domain, device and function are 0. */
constexpr unsigned kFirstBus = 0x10;
constexpr unsigned gpu_bus(int gpu)
{
    return kFirstBus + static_cast<unsigned>(gpu);
}

std::string gpu_name(int gpu);

} // namespace cudasim

#endif
