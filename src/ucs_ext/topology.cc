/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "topology.h"

#include "fuselink_config.h"

#ifdef FUSELINK_HAVE_HWLOC
#include <hwloc.h>
#endif

namespace fuselink {

#ifdef FUSELINK_HAVE_HWLOC

struct Topology::Tree {
    hwloc_topology_t topology = nullptr;

    ~Tree()
    {
        if (topology != nullptr) {
            hwloc_topology_destroy(topology);
        }
    }

    /* What the device hangs on: an object with CPUs and memory. */
    hwloc_obj_t parent(const std::string &device) const
    {
        for (hwloc_obj_t os = nullptr;
             (os = hwloc_get_next_osdev(topology, os)) != nullptr;) {
            auto type = os->attr->osdev.type;
            if ((type == HWLOC_OBJ_OSDEV_NETWORK ||
                 type == HWLOC_OBJ_OSDEV_OPENFABRICS) &&
                os->name == device) {
                return hwloc_get_non_io_ancestor_obj(topology, os);
            }
        }
        return nullptr;
    }
};

Topology::Topology()
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
    hwloc_obj_t parent = tree_ ? tree_->parent(device) : nullptr;
    if (parent == nullptr || parent->nodeset == nullptr ||
        hwloc_bitmap_weight(parent->nodeset) != 1) {
        return -1;
    }
    return hwloc_bitmap_first(parent->nodeset);
}

#else

struct Topology::Tree {};

Topology::Topology() = default;

Topology::Place Topology::place(const std::string &) const
{
    return Place::Unknown;
}

int Topology::numa_node(const std::string &) const
{
    return -1;
}

#endif

Topology::~Topology() = default;

const Topology &Topology::machine()
{
    static const Topology topology;
    return topology;
}

} // namespace fuselink
