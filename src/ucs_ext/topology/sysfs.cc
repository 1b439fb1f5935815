/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "sysfs.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace fuselink::topology {
namespace {

namespace fs = std::filesystem;

/* The first word of a file of one line; empty if there is none. */
std::string word_of(const fs::path &path)
{
    std::ifstream file(path);
    std::string   word;
    file >> word;
    return word;
}

double number_of(const fs::path &path)
{
    return strtod(word_of(path).c_str(), nullptr);
}

unsigned hex_of(const fs::path &path)
{
    return static_cast<unsigned>(strtoul(word_of(path).c_str(), nullptr, 16));
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

/* Where a link leads; empty if nowhere. */
fs::path target(const fs::path &link)
{
    std::error_code error;
    fs::path        path = fs::canonical(link, error);
    return error ? fs::path() : path;
}

/* The speed that a device and its slot can have. The current one is lower on an
 * idle GPU, which saves power. */
double pcie_rate_at(const fs::path &device)
{
    auto of = [](const fs::path &folder) {
        double lanes = number_of(folder / "max_link_width");
        return lanes >= 1 && lanes <= 64 ?
                   pcie_rate(number_of(folder / "max_link_speed"),
                             static_cast<unsigned>(lanes)) : 0;
    };
    double own = of(device), slot = of(device.parent_path());
    return own > 0 && slot > 0 ? std::min(own, slot) : own;
}

bool is_root(const std::string &part)
{
    return part.starts_with("pci") && part.find(':') != std::string::npos;
}

/* "100 Gb/sec (4X EDR)" of a port, "25000" Mbit/s of an interface; 0 or less of
 * those that do not know. */
double rdma_rate(const fs::path &device)
{
    double most = 0;
    for (const auto &port : entries(device / "ports")) {
        most = std::max(most, number_of(device / "ports" / port / "rate"));
    }
    return most * 1e9 / 8;
}

double net_rate(const fs::path &device)
{
    return std::max(number_of(device / "speed"), 0.0) * 1e6 / 8;
}

constexpr int kLoopback = 772; /* ARPHRD_LOOPBACK */

} // namespace

struct Sysfs::NicLink {
    std::string name;
    fs::path    device; /* empty: a virtual one */
    bool        rdma;
};

std::vector<Sysfs::NicLink> Sysfs::nic_links() const
{
    std::vector<NicLink> links;
    for (bool rdma : {true, false}) {
        fs::path folder = fs::path(root_) / "class" /
                          (rdma ? "infiniband" : "net");
        for (const auto &name : entries(folder)) {
            if (rdma || number_of(folder / name / "type") != kLoopback) {
                links.push_back({name, target(folder / name / "device"),
                                 rdma});
            }
        }
    }
    return links;
}

bool Sysfs::read_device(const std::string &address, PciDevice &device) const
{
    fs::path path = target(fs::path(root_) / "bus/pci/devices" / address);
    auto     at   = PciAddress::parse(address);
    if (path.empty() || !at) {
        return false;
    }
    device.address   = *at;
    device.pci_class = hex_of(path / "class") >> 8;
    device.vendor    = hex_of(path / "vendor");
    device.rate      = pcie_rate_at(path);
    std::string numa = word_of(path / "numa_node");
    device.numa_node = numa.empty() ? -1 : atoi(numa.c_str());
    for (const auto &part : path.parent_path()) {
        std::string name = part.string();
        if (is_root(name)) {
            device.bridges.clear(); /* a bus of its own inside another */
        }
        if (is_root(name) || PciAddress::parse(name)) {
            device.bridges.push_back(name);
        }
    }
    return true;
}

PciTree Sysfs::pci_tree() const
{
    PciTree tree;
    for (const auto &address : entries(fs::path(root_) / "bus/pci/devices")) {
        PciDevice device;
        if (read_device(address, device) &&
            (device.is_gpu() || device.pci_class >> 8 == 0x02)) {
            tree.devices.push_back(std::move(device));
        }
    }
    for (const auto &link : nic_links()) {
        /* Between the PCI device and the NIC there may be another bus, such
         * as virtio's. */
        for (fs::path up = link.device; up.has_relative_path();
             up          = up.parent_path()) {
            auto at = PciAddress::parse(up.filename().string());
            if (!at) {
                continue;
            }
            if (auto *device = tree.find(*at)) {
                device->os_names.push_back(link.name);
            }
            break;
        }
    }
    for (const auto &name : entries(fs::path(root_) / "devices/system/node")) {
        tree.numa_nodes += name.starts_with("node") && name.size() > 4 &&
                           name.find_first_not_of("0123456789", 4) ==
                               std::string::npos;
    }
    return tree;
}

std::vector<SysfsNic> Sysfs::nics() const
{
    std::vector<SysfsNic> found;
    std::vector<fs::path> devices; /* of those found */
    const fs::path        classes = fs::path(root_) / "class";
    for (const auto &link : nic_links()) {
        size_t i = 0;
        if (link.rdma) {
            i = found.size();
        } else {
            /* The interface of an RDMA device is one NIC with it, and so is
             * the one that a software device is put on. */
            while (i < found.size() &&
                   (link.device.empty() || devices[i] != link.device) &&
                   word_of(classes / "infiniband" / found[i].names[0] /
                           "parent") != link.name) {
                ++i;
            }
        }
        double rate = link.rdma ?
                          rdma_rate(classes / "infiniband" / link.name) :
                          net_rate(classes / "net" / link.name);
        if (i == found.size()) {
            found.emplace_back();
            devices.push_back(link.device);
        }
        found[i].names.push_back(link.name);
        found[i].rate = std::max(found[i].rate, rate);
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const SysfsNic &x, const SysfsNic &y) {
                         return strverscmp(x.names[0].c_str(),
                                           y.names[0].c_str()) < 0;
                     });
    return found;
}

} // namespace fuselink::topology
