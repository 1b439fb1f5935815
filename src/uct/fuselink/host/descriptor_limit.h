/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_HOST_DESCRIPTOR_LIMIT_H
#define FUSELINK_HOST_DESCRIPTOR_LIMIT_H

namespace fuselink {

/**
 * Lets this process, and what it starts from now on, have as many descriptors as it may have
 * without privileges, up to kMostDescriptors: by custom it begins with 1,024, which is what
 * select() knows, and each NIC may take one for each peer. By any thread.
 */
void raise_descriptor_limit();

/** More would make programs slow that close all they could have. */
inline constexpr unsigned kMostDescriptors = 1 << 16;

} // namespace fuselink

#endif
