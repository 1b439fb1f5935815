/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_EDGE_COMPONENT_H
#define FUSELINK_EDGE_COMPONENT_H

#include "../ucx.h"

namespace fuselink {

/** The component of this copy of the code; nullptr if it was not registered,
 *  of which a warning has said why. Its domains and interfaces are Md and
 *  RailsIface, those of another copy are not for us to look into. */
uct_component_t *registered_component();

/** That of this name in UCX's list; nullptr if there is none. */
uct_component_t *find_component(const char *name);

/** What all transports of the name `fuselink` have in common: name and settings.
 *  The two functions are UCT's, of the one at hand. */
void describe_transport(uct_tl_t &transport,
                        decltype(uct_tl_t::query_devices) query_devices,
                        decltype(uct_tl_t::iface_open) iface_open);

} // namespace fuselink

#endif
