/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TOOLS_INFO_GATHER_H
#define FUSELINK_TOOLS_INFO_GATHER_H

#include "facts.h"

namespace fuselink::info {

/**
 * Opens the transport in this process, as UCX would with the environment that
 * there is, and looks at what it decided. Takes no seat on the load board,
 * connects to nobody, and closes everything again.
 *
 * False, with what went wrong in `error`, if the transport cannot be opened;
 * `facts` then has what was found out before.
 */
bool gather(Facts &facts, std::string &error);

} // namespace fuselink::info

#endif
