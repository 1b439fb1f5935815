/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/*
 * Settings come from the environment. Whatever the text, it is either accepted
 * or refused with a reason, and an accepted list does what its text says.
 */

#include "config/device_list.h"

#include <cmath>
#include <cstdint>
#include <cstdlib>

using namespace fuselink;

namespace {

void require(bool condition)
{
    if (!condition) {
        abort();
    }
}

void device_list(std::string_view text)
{
    DeviceList list;
    std::string error;
    if (!DeviceList::parse(text, list, error)) {
        require(!error.empty());
        return;
    }

    for (const std::string &name : list.names()) {
        require(!name.empty());
        require(list.allows(name) == list.explicit_names());
    }
}

void weight_list(std::string_view text)
{
    WeightList list;
    std::string error;
    if (!WeightList::parse(text, list, error)) {
        require(!error.empty());
        return;
    }

    for (const auto &[device, weight] : list.entries()) {
        require(!device.empty());
        require(std::isfinite(weight) && weight > 0);
        require(std::isfinite(list.weight(device)));
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    std::string_view text(reinterpret_cast<const char *>(data), size);
    device_list(text);
    weight_list(text);
    return 0;
}
