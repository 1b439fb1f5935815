/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "nvml_reader.h"

#include <algorithm>

namespace fuselink::topology {
namespace {

constexpr int kOk = NvmlCalls::kSuccess;

/* The text of a C function, whatever it has left in the buffer. */
template <typename Function>
std::string text_of(Function function, NvmlCalls::Device *handle)
{
    char text[128] = "";
    if (function(handle, text, sizeof(text)) != kOk) {
        return {};
    }
    text[sizeof(text) - 1] = '\0';
    return text;
}

std::optional<PciAddress> address_in(const NvmlCalls::PciInfo &info)
{
    return PciAddress::parse(std::string_view(
        info.bus_id, std::find(std::begin(info.bus_id), std::end(info.bus_id),
                               '\0') - info.bus_id));
}

/* nvmlGpuTopologyLevel_t: steps of ten. */
Connection connection_at(int level)
{
    constexpr Connection kLevels[] = {Connection::Self, Connection::Pix,
                                      Connection::Pxb,  Connection::Phb,
                                      Connection::Node, Connection::Sys};
    return level >= 0 && level <= 50 ? kLevels[level / 10] :
                                       Connection::Unknown;
}

/* By generation: 2.5 GT/s, and then twice as much each. */
double pcie_of_generation(unsigned generation, unsigned lanes)
{
    constexpr double kSpeeds[] = {0, 2.5, 5, 8, 16, 32, 64};
    return generation < std::size(kSpeeds) ?
               pcie_rate(kSpeeds[generation], lanes) : 0;
}

} // namespace

/* The NVLinks of a GPU that are up. */
struct NvmlReader::Links {
    std::vector<unsigned> to_gpus;      /* by number of the GPU */
    unsigned              to_switch = 0;
    double                speed     = 0; /* of one */
};

std::optional<PciAddress> NvmlReader::address_of(Handle handle) const
{
    NvmlCalls::PciInfo info{};
    return calls_.pci(handle, &info) == kOk ? address_in(info) : std::nullopt;
}

void NvmlReader::add_gpus(Devices &devices) const
{
    unsigned count = 0;
    if (calls_.count(&count) != kOk) {
        return;
    }
    for (unsigned i = 0; i < std::min<size_t>(count, Devices::kMaxGpus); ++i) {
        Handle handle = nullptr;
        if (calls_.handle(i, &handle) != kOk) {
            devices.notes.push_back("GPU " + std::to_string(i) +
                                    ": NVML gives no access to it");
            continue;
        }
        auto address = address_of(handle);
        if (!address) {
            continue;
        }
        Gpu gpu;
        gpu.address = *address;
        gpu.cuda    = true;
        gpu.name    = text_of(calls_.name, handle);
        gpu.uuid    = text_of(calls_.uuid, handle);
        unsigned now = 0, later = 0, generation = 0, lanes = 0;
        gpu.mig = calls_.mig != nullptr &&
                  calls_.mig(handle, &now, &later) == kOk && now == 1;
        if (calls_.pcie_generation != nullptr && calls_.pcie_width != nullptr &&
            calls_.pcie_generation(handle, &generation) == kOk &&
            calls_.pcie_width(handle, &lanes) == kOk) {
            gpu.pcie = pcie_of_generation(generation, lanes);
        }
        devices.add(std::move(gpu));
    }
}

/* By number; null for GPUs that NVML does not know. */
std::vector<NvmlReader::Handle> NvmlReader::handles(const Devices &devices) const
{
    std::vector<Handle> found(devices.gpus());
    unsigned            count = 0;
    if (calls_.count(&count) != kOk) {
        return found;
    }
    for (unsigned i = 0; i < std::min<size_t>(count, Devices::kMaxGpus); ++i) {
        Handle handle = nullptr;
        if (calls_.handle(i, &handle) == kOk) {
            auto address = address_of(handle);
            auto gpu     = address ? devices.find_gpu(*address) : std::nullopt;
            if (gpu) {
                found[*gpu] = handle;
            }
        }
    }
    return found;
}

double NvmlReader::link_speed(Handle handle) const
{
    NvmlCalls::FieldValue speed{};
    speed.field = NvmlCalls::kFieldLinkSpeed;
    if (calls_.fields == nullptr || calls_.fields(handle, 1, &speed) != kOk ||
        speed.result != kOk) {
        return 0;
    }
    double megabytes = speed.type == 0 ? speed.value.as_double :
                       speed.type == 1 ? speed.value.as_unsigned :
                       speed.type == 2 ?
                           static_cast<double>(speed.value.as_long) :
                           static_cast<double>(speed.value.as_long_long);
    return megabytes > 0 && megabytes < 1e9 ? megabytes * 1e6 : 0;
}

NvmlReader::Links NvmlReader::links_of(Handle         handle,
                                       const Devices &devices) const
{
    Links links;
    links.to_gpus.resize(devices.gpus());
    if (handle == nullptr || calls_.link_state == nullptr ||
        calls_.link_remote == nullptr) {
        return links;
    }
    links.speed = link_speed(handle);
    for (unsigned link = 0; link < NvmlCalls::kMaxLinks; ++link) {
        int active = 0, type = -1;
        /* There are GPUs whose links begin at another number than 0. */
        if (calls_.link_state(handle, link, &active) != kOk || active != 1) {
            continue;
        }
        NvmlCalls::PciInfo remote{};
        bool is_switch = calls_.link_remote_type != nullptr &&
                         calls_.link_remote_type(handle, link, &type) == kOk &&
                         type == NvmlCalls::kRemoteSwitch;
        auto address = !is_switch && calls_.link_remote(handle, link,
                                                        &remote) == kOk ?
                           address_in(remote) : std::nullopt;
        auto gpu = address ? devices.find_gpu(*address) : std::nullopt;
        if (is_switch) {
            ++links.to_switch;
        } else if (gpu) {
            ++links.to_gpus[*gpu];
        }
    }
    return links;
}

void NvmlReader::connect_nvlinks(const std::vector<Handle> &handles,
                                 Devices                   &devices) const
{
    std::vector<Links> links;
    for (Handle handle : handles) {
        links.push_back(links_of(handle, devices));
    }
    for (size_t a = 0; a < handles.size(); ++a) {
        for (size_t b = a + 1; b < handles.size(); ++b) {
            NvLink between;
            between.links = std::min(links[a].to_gpus[b], links[b].to_gpus[a]);
            if (!between.there()) {
                between.links = std::min(links[a].to_switch,
                                         links[b].to_switch);
                between.through_switch = between.there();
            }
            between.rate = between.links * std::min(links[a].speed,
                                                    links[b].speed);
            devices.set_nvlink(a, b, between);
        }
    }
}

void NvmlReader::connect_pair(Handle a, Handle b, size_t i, size_t j,
                              Devices &devices) const
{
    int level = 0, read = 0, write = 0;
    if (devices.between_gpus(i, j) == Connection::Unknown &&
        calls_.ancestor != nullptr && calls_.ancestor(a, b, &level) == kOk) {
        devices.set_between_gpus(i, j, connection_at(level));
    }
    if (calls_.p2p == nullptr ||
        calls_.p2p(a, b, NvmlCalls::kP2pRead, &read) != kOk ||
        calls_.p2p(a, b, NvmlCalls::kP2pWrite, &write) != kOk ||
        read == NvmlCalls::kP2pUnknown || write == NvmlCalls::kP2pUnknown) {
        return;
    }
    devices.set_peer_access(i, j, read == NvmlCalls::kP2pOk &&
                                          write == NvmlCalls::kP2pOk ?
                                      PeerAccess::Yes : PeerAccess::No);
}

void NvmlReader::connect(Devices &devices) const
{
    auto known = handles(devices);
    connect_nvlinks(known, devices);
    for (size_t i = 0; i < known.size(); ++i) {
        for (size_t j = 0; j < known.size(); ++j) {
            if (i != j && known[i] != nullptr && known[j] != nullptr) {
                connect_pair(known[i], known[j], i, j, devices);
            }
        }
    }
}

} // namespace fuselink::topology
