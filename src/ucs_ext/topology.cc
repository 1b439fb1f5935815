/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "topology.h"

#include <algorithm>
#include <cstdio>
#include <hwloc.h>

namespace fuselink {

struct Topology::Tree {
    hwloc_topology_t topology = nullptr;

    ~Tree()
    {
        if (topology != nullptr) {
            hwloc_topology_destroy(topology);
        }
    }

    hwloc_obj_t find(const std::string &device) const
    {
        for (hwloc_obj_t os = nullptr;
             (os = hwloc_get_next_osdev(topology, os)) != nullptr;) {
            auto type = os->attr->osdev.type;
            if ((type == HWLOC_OBJ_OSDEV_NETWORK ||
                 type == HWLOC_OBJ_OSDEV_OPENFABRICS) &&
                os->name == device) {
                return os;
            }
        }
        return nullptr;
    }

    /* What a device hangs on: an object with CPUs and memory. */
    hwloc_obj_t parent(hwloc_obj_t io) const
    {
        return io != nullptr ? hwloc_get_non_io_ancestor_obj(topology, io) :
                               nullptr;
    }
    hwloc_obj_t parent(const std::string &device) const
    {
        return parent(find(device));
    }

    int numa_node(hwloc_obj_t io) const
    {
        hwloc_obj_t at = parent(io);
        if (at == nullptr || at->nodeset == nullptr ||
            hwloc_bitmap_weight(at->nodeset) != 1) {
            return -1;
        }
        return hwloc_bitmap_first(at->nodeset);
    }

    static topology::PciAddress
    address(const hwloc_obj_attr_u::hwloc_pcidev_attr_s &at)
    {
        return {at.domain, at.bus, at.dev, at.func};
    }

    /* As the kernel names them, from the root downwards. */
    static std::vector<std::string> bridges(hwloc_obj_t pci)
    {
        std::vector<std::string> names;
        for (hwloc_obj_t up = pci->parent;
             up != nullptr && up->type == HWLOC_OBJ_BRIDGE; up = up->parent) {
            const auto &bridge = up->attr->bridge;
            if (bridge.upstream_type == HWLOC_OBJ_BRIDGE_HOST) {
                char root[24];
                snprintf(root, sizeof(root), "pci%04x:%02x",
                         static_cast<unsigned>(bridge.downstream.pci.domain),
                         bridge.downstream.pci.secondary_bus);
                names.emplace_back(root);
            } else {
                names.push_back(address(bridge.upstream.pci).text());
            }
        }
        std::reverse(names.begin(), names.end());
        return names;
    }

    topology::PciDevice device(hwloc_obj_t pci) const
    {
        constexpr double    kGiga = 1e9;
        topology::PciDevice found;
        found.address   = address(pci->attr->pcidev);
        found.pci_class = pci->attr->pcidev.class_id;
        found.vendor    = pci->attr->pcidev.vendor_id;
        found.name      = pci->name != nullptr ? pci->name : "";
        found.numa_node = numa_node(pci);
        found.rate      = static_cast<double>(pci->attr->pcidev.linkspeed) *
                     kGiga;
        found.bridges = bridges(pci);
        return found;
    }
};

Topology::Topology(const char *xml)
{
    auto tree = std::make_unique<Tree>();
    if (hwloc_topology_init(&tree->topology) != 0) {
        return;
    }
    /* GPUs are other components' business, and asking for them would start
     * their drivers. Errors only mean that there is no such component. */
    for (const char *gpu : {"cuda", "nvml", "opencl", "gl", "rsmi",
                            "levelzero"}) {
        hwloc_topology_set_components(
            tree->topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, gpu);
    }
    hwloc_topology_set_all_types_filter(tree->topology,
                                        HWLOC_TYPE_FILTER_KEEP_NONE);
    for (hwloc_obj_type_t type : {HWLOC_OBJ_PACKAGE, HWLOC_OBJ_GROUP}) {
        hwloc_topology_set_type_filter(tree->topology, type,
                                       HWLOC_TYPE_FILTER_KEEP_STRUCTURE);
    }
    hwloc_topology_set_io_types_filter(tree->topology,
                                       HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    if (xml != nullptr && hwloc_topology_set_xml(tree->topology, xml) != 0) {
        return;
    }
    if (hwloc_topology_load(tree->topology) == 0) {
        tree_ = std::move(tree);
    }
}

Topology::Place Topology::place(const std::string &device) const
{
    hwloc_obj_t parent = tree_ ? tree_->parent(device) : nullptr;
    if (parent == nullptr || parent->cpuset == nullptr ||
        parent == hwloc_get_root_obj(tree_->topology)) {
        return Place::Unknown;
    }
    Place result          = Place::Unknown;
    hwloc_cpuset_t binding = hwloc_bitmap_alloc();
    if (binding != nullptr &&
        hwloc_get_cpubind(tree_->topology, binding,
                          HWLOC_CPUBIND_PROCESS) == 0) {
        result = hwloc_bitmap_intersects(parent->cpuset, binding) ?
                     Place::Near : Place::Far;
    }
    hwloc_bitmap_free(binding);
    return result;
}

int Topology::numa_node(const std::string &device) const
{
    return tree_ ? tree_->numa_node(tree_->find(device)) : -1;
}

void Topology::read_bus(topology::PciTree &bus) const
{
    bus = topology::PciTree();
    if (!tree_) {
        return;
    }
    for (hwloc_obj_t pci = nullptr;
         (pci = hwloc_get_next_pcidev(tree_->topology, pci)) != nullptr &&
         bus.devices.size() < topology::PciTree::kMaxDevices;) {
        bus.devices.push_back(tree_->device(pci));
    }
    for (hwloc_obj_t os = nullptr;
         (os = hwloc_get_next_osdev(tree_->topology, os)) != nullptr;) {
        hwloc_obj_t pci = os->parent;
        while (pci != nullptr && pci->type == HWLOC_OBJ_OS_DEVICE) {
            pci = pci->parent;
        }
        if (pci == nullptr || pci->type != HWLOC_OBJ_PCI_DEVICE ||
            os->name == nullptr) {
            continue;
        }
        if (auto *device = bus.find(Tree::address(pci->attr->pcidev))) {
            device->os_names.emplace_back(os->name);
        }
    }
    int nodes = hwloc_get_nbobjs_by_type(tree_->topology, HWLOC_OBJ_NUMANODE);
    bus.numa_nodes = nodes > 0 ? static_cast<unsigned>(nodes) : 0;
}

Topology::~Topology() = default;

std::unique_ptr<Topology> Topology::from_xml(const std::string &path)
{
    return std::unique_ptr<Topology>(new Topology(path.c_str()));
}

const Topology &Topology::machine()
{
    static const Topology topology;
    return topology;
}

} // namespace fuselink
