/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_EDGE_ALIAS_COMPONENT_H
#define FUSELINK_EDGE_ALIAS_COMPONENT_H

#include "../ucx.h"
#include "../wire/address.h"

namespace fuselink {

/**
 * Another component of UCX under the name of transport `fuselink`, so that it is
 * there with UCX_TLS=fuselink alone, as far as UCX has it: UCX's own for GPUs.
 *
 * Everything is done by the real one; an alias only passes on what UCT asks. It
 * has no device where UCX may have enabled the real one by its own name: UCP
 * would take the two for two ways to the same memory.
 */
struct AliasComponent : uct_component_t {
    const char      *own_name;  /* as a component, at most 15 characters */
    const char      *real_name; /* of the component that it stands for */
    const char      *real_tl;   /* its transport */
    const char      *device;    /* name of our device */
    wire::DeviceKind kind;

    /* What `UCX_TLS` may name it and its groups, beside "all". */
    const char      *group;

    uct_tl_t         transport;

    static AliasComponent &from(uct_component_h component)
    {
        return *static_cast<AliasComponent *>(component);
    }

    /** The real one; nullptr if UCX does not have it. */
    uct_component_h real() const;
};

/** Enters all aliases into UCX's list of components. */
void register_aliases();

} // namespace fuselink

#endif
