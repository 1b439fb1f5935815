/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "nic_list.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace fuselink::topology {
namespace {

namespace fs = std::filesystem;

constexpr int kLoopback = 772; /* ARPHRD_LOOPBACK */

/* What a file of one line begins with. */
template <typename Value>
Value first_of(const fs::path &path)
{
    std::ifstream file(path);
    Value         value{};
    file >> value;
    return value;
}

std::vector<std::string> entries(const fs::path &folder)
{
    std::vector<std::string> names;
    std::error_code          error;
    fs::directory_iterator   at(folder, error);
    for (; !error && at != fs::directory_iterator() &&
           names.size() < PciTree::kMaxDevices;
         at.increment(error)) {
        names.push_back(at->path().filename().string());
    }
    std::sort(names.begin(), names.end(),
              [](const std::string &x, const std::string &y) {
                  return strverscmp(x.c_str(), y.c_str()) < 0;
              });
    return names;
}

/* "100 Gb/sec (4X EDR)" of a port, "25000" Mbit/s of an interface; 0 or less of
 * those that do not know. */
double rdma_rate(const fs::path &device)
{
    double most = 0;
    for (const auto &port : entries(device / "ports")) {
        most = std::max(most, first_of<double>(device / "ports" / port /
                                               "rate"));
    }
    return most * 1e9 / 8;
}

double net_rate(const fs::path &device)
{
    return std::max(first_of<double>(device / "speed"), 0.0) * 1e6 / 8;
}

bool is_one(const Nic &nic, const std::string &under, const NicFacts &facts,
            const PciDevice *device)
{
    return (device != nullptr && nic.address == device->address) ||
           (!under.empty() && under == facts.name);
}

} // namespace

std::vector<NicFacts> list_nics(const std::string &root)
{
    std::vector<NicFacts> found;
    const fs::path        rdma = fs::path(root) / "class/infiniband";
    for (const auto &name : entries(rdma)) {
        found.push_back({name, true, rdma_rate(rdma / name),
                         first_of<std::string>(rdma / name / "parent")});
    }
    const fs::path net = fs::path(root) / "class/net";
    for (const auto &name : entries(net)) {
        if (first_of<int>(net / name / "type") != kLoopback) {
            found.push_back({name, false, net_rate(net / name), {}});
        }
    }
    return found;
}

std::vector<Nic> join_nics(const std::vector<NicFacts> &facts,
                           const PciTree               &bus)
{
    std::vector<Nic>         nics;
    std::vector<std::string> under; /* of each */
    for (const NicFacts &one : facts) {
        const PciDevice *device = bus.find(one.name);
        size_t           i      = 0;
        while (i < nics.size() &&
               (one.rdma || !is_one(nics[i], under[i], one, device))) {
            ++i;
        }
        if (i == nics.size()) {
            nics.emplace_back();
            under.push_back(one.under);
            if (device != nullptr) {
                nics[i].address   = device->address;
                nics[i].numa_node = device->numa_node;
                nics[i].pcie      = device->rate;
            }
        }
        nics[i].names.push_back(one.name);
        nics[i].rate = std::max(nics[i].rate, one.rate);
    }
    return nics;
}

} // namespace fuselink::topology
