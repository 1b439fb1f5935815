/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "nvlinks.h"

#include "../../../ucs_ext/topology/machine.h"
#include "../../../ucs_ext/topology/paths.h"
#include "../ucx.h"

#include <algorithm>
#include <cstdio>

namespace fuselink {
namespace {

/* GPU-01020304-0506-0708-090a-0b0c0d0e0f10, as NVML writes it. */
std::string text_of(const GpuContext::Uuid &gpu)
{
    std::string text = "GPU";
    for (size_t i = 0; i < gpu.size(); ++i) {
        char digits[3];
        snprintf(digits, sizeof(digits), "%02x", gpu[i]);
        text += i == 0 || i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "";
        text += digits;
    }
    return text;
}

} // namespace

bool NvLinks::read(std::string &error)
{
    std::lock_guard lock(mutex_);
    return read_now(error);
}

bool NvLinks::read_now(std::string &error)
{
    devices_.emplace();
    if (!topology::read_this(file_, *devices_, error)) {
        *devices_ = topology::Devices();
        return false;
    }
    return true;
}

bool NvLinks::known()
{
    std::lock_guard lock(mutex_);
    return devices_.has_value();
}

uint32_t NvLinks::nearest(const GpuContext::Uuid &gpu,
                          const std::vector<std::string> &nics)
{
    std::lock_guard     lock(mutex_);
    const uint32_t      all = static_cast<uint32_t>((uint64_t{1} << nics.size()) -
                                                    1);
    auto                own = number(gpu);
    std::vector<size_t> numbers;
    for (const auto &name : nics) {
        auto nic = own ? devices_->find_nic(name) : std::nullopt;
        if (!nic) {
            return all;
        }
        numbers.push_back(*nic);
    }
    uint32_t near = 0;
    for (const auto &path : topology::nic_paths(*devices_, *own, numbers)) {
        if (path.way == topology::NicPath::Way::Direct) {
            auto at = std::find(numbers.begin(), numbers.end(), path.nic);
            near   |= 1u << (at - numbers.begin());
        }
    }
    return near;
}

std::optional<size_t> NvLinks::number(const GpuContext::Uuid &gpu)
{
    std::string error;
    if (!devices_ && !read_now(error)) {
        ucs_debug("fuselink: which GPUs have NVLink is not known: %s",
                  error.c_str());
    }
    return devices_->find_gpu(text_of(gpu));
}

bool NvLinks::any(const GpuContext::Uuid &gpu)
{
    std::lock_guard lock(mutex_);
    const auto      here = number(gpu);
    for (size_t i = 0; here && i < devices_->gpus(); ++i) {
        if (i != *here && devices_->nvlink(*here, i).there()) {
            return true;
        }
    }
    return false;
}

bool NvLinks::between(const GpuContext::Uuid &one, const GpuContext::Uuid &other)
{
    std::lock_guard lock(mutex_);
    const auto      here = number(one), there = number(other);
    return here && there && here != there &&
           devices_->nvlink(*here, *there).there();
}

} // namespace fuselink
