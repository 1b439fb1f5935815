/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_UCS_EXT_NODE_H
#define FUSELINK_UCS_EXT_NODE_H

#include <cstdint>
#include <string_view>

namespace fuselink {

/**
 * A number that two processes share exactly when shared memory, System V
 * segments and cross-process copies work between them: same machine, same
 * user, same IPC and PID namespaces, same /dev/shm. `lanes` is mixed in, so
 * that only processes with the same lanes count each other as node-local.
 *
 * @param machine an identity of the machine, the same in all its processes
 */
uint64_t node_signature(std::string_view lanes, uint64_t machine);

/**
 * A number that two processes share exactly when they see the same network
 * interfaces and addresses: same machine, same network namespace.
 *
 * @param machine as above
 */
uint64_t network_signature(uint64_t machine);

} // namespace fuselink

#endif
