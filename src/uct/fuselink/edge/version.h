/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_EDGE_VERSION_H
#define FUSELINK_EDGE_VERSION_H

namespace fuselink {

/*
 * Every release of UCX has the soname libuct.so.0 while the structs that a
 * component fills change between minor versions. A build is for one minor
 * version, and declines in the others.
 */

/** Called before anything is registered: may this process's UCX read our
 *  structs? Says one line and returns false if not. */
bool version_matches();

} // namespace fuselink

#endif
