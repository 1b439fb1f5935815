/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "devices.h"

#include <algorithm>
#include <cstring>

namespace fuselink::topology {

bool Nic::is(std::string_view name) const
{
    return std::find(names.begin(), names.end(), name) != names.end();
}

bool Devices::add(Gpu gpu)
{
    if (gpus_.size() == kMaxGpus || find_gpu(gpu.address)) {
        return false;
    }
    gpus_.push_back(std::move(gpu));
    return true;
}

bool Devices::add(Nic nic)
{
    if (nics_.size() == kMaxNics || nic.names.empty() ||
        std::any_of(nic.names.begin(), nic.names.end(),
                    [this](const std::string &name) {
                        return find_nic(name).has_value();
                    })) {
        return false;
    }
    nics_.push_back(std::move(nic));
    return true;
}

void Devices::number()
{
    std::sort(gpus_.begin(), gpus_.end(), [](const Gpu &x, const Gpu &y) {
        return x.address < y.address;
    });
    std::sort(nics_.begin(), nics_.end(), [](const Nic &x, const Nic &y) {
        return strverscmp(x.names[0].c_str(), y.names[0].c_str()) < 0;
    });
    pairs_.assign(gpus_.size() * gpus_.size(), Pair());
    to_nic_.assign(gpus_.size() * nics_.size(), Connection::Unknown);
    for (size_t i = 0; i < gpus_.size(); ++i) {
        pair(i, i).pcie = Connection::Self;
    }
}

std::optional<size_t> Devices::find_gpu(const PciAddress &address) const
{
    for (size_t i = 0; i < gpus_.size(); ++i) {
        if (gpus_[i].address == address) {
            return i;
        }
    }
    return std::nullopt;
}

std::optional<size_t> Devices::find_gpu(std::string_view uuid) const
{
    for (size_t i = 0; i < gpus_.size() && !uuid.empty(); ++i) {
        if (gpus_[i].uuid == uuid) {
            return i;
        }
    }
    return std::nullopt;
}

std::optional<size_t> Devices::find_nic(std::string_view name) const
{
    for (size_t i = 0; i < nics_.size(); ++i) {
        if (nics_[i].is(name)) {
            return i;
        }
    }
    return std::nullopt;
}

void Devices::set_between_gpus(size_t a, size_t b, Connection connection)
{
    pair(a, b).pcie = pair(b, a).pcie = connection;
}

void Devices::set_nvlink(size_t a, size_t b, const NvLink &link)
{
    pair(a, b).nvlink = pair(b, a).nvlink = link;
}

} // namespace fuselink::topology
