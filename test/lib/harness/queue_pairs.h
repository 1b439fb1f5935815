/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_QUEUE_PAIRS_H
#define FUSELINK_TEST_QUEUE_PAIRS_H

#include <cstddef>
#include <map>
#include <string>

namespace fltest {

/** The reliable connections of this process, of each RDMA NIC that has any. */
std::map<std::string, size_t> queue_pairs();

/** Puts the reliable connections of this process's RDMA NICs, but for the `spared`
 *  oldest ones, into the state of error, as a NIC does that gives up retrying.
 *  Returns how many they were. */
size_t break_queue_pairs(size_t spared = 0);

} // namespace fltest

#endif
