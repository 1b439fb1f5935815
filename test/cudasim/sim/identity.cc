/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "identity.h"

#include <cstdio>
#include <cstring>
#include <fstream>

#include "ucs_ext/hash.h"

namespace cudasim {

/* An emulated host has a boot ID of its own. */
uint64_t host_number()
{
    static const uint64_t number = [] {
        std::ifstream  file("/proc/sys/kernel/random/boot_id");
        std::string    text;
        fuselink::Hash hash;
        std::getline(file, text);
        hash.add(text);
        return hash.value();
    }();
    return number;
}

std::array<char, 16> gpu_uuid(int gpu)
{
    uint64_t             host   = host_number();
    uint64_t             number = static_cast<uint64_t>(gpu);
    std::array<char, 16> uuid;
    memcpy(uuid.data(), &host, 8);
    memcpy(uuid.data() + 8, &number, 8);
    return uuid;
}

std::string gpu_uuid_text(int gpu)
{
    std::string text = "GPU-";
    auto        uuid = gpu_uuid(gpu);
    for (size_t i = 0; i < uuid.size(); ++i) {
        char digits[4];
        snprintf(digits, sizeof(digits), "%02x",
                 static_cast<unsigned char>(uuid[i]));
        text += digits;
        text += i == 3 || i == 5 || i == 7 || i == 9 ? "-" : "";
    }
    return text;
}

std::string gpu_name(int gpu)
{
    return "Emulated GPU " + std::to_string(gpu);
}

} // namespace cudasim
