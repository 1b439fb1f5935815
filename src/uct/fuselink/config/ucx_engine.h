/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_CONFIG_UCX_ENGINE_H
#define FUSELINK_CONFIG_UCX_ENGINE_H

namespace fuselink {

/** UCX_PROTO_ENABLE, of the environment or UCX's own file of settings, is on or may come to
 *  be: UCP uses its newer protocol engine. Of releases in which it is off by default; a program
 *  that turns it on by a call is not seen. */
bool ucx_proto_enabled();

} // namespace fuselink

#endif
