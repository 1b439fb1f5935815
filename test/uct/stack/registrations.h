/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_REGISTRATIONS_H
#define FUSELINK_TEST_REGISTRATIONS_H

#include <cstddef>

namespace fltest {

/** From now on this host's RDMA NIC of that number registers no memory that is in
 *  the range, as one that has run out of keys. One range at a time; a length of 0
 *  ends it. */
void refuse_registrations(unsigned nic, const void *base, size_t length);

/** Registrations that were refused so far. */
size_t refused_registrations();

} // namespace fltest

#endif
