/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TRANSFER_CHUNK_LENGTH_H
#define FUSELINK_TRANSFER_CHUNK_LENGTH_H

#include <algorithm>
#include <cstddef>

namespace fuselink {

/**
 * The length of a chunk that the policy wants `wanted` bytes long, where it is cut
 * from `there` bytes that hang together: all of them if no more is there, or if what
 * would be left is a remainder below `least`, for which a chunk of its own costs
 * more than it brings, and no more than `most` come of it. `most` bounds what is
 * rounded up, `wanted` is within it already.
 *
 * All in bytes, `wanted` and `there` above 0. The result is from 1 to `there`.
 */
inline size_t without_remainder(size_t wanted, size_t there, size_t least,
                                size_t most)
{
    if (wanted >= there) {
        return there;
    }
    return there - wanted < least && there <= most ? there : wanted;
}

} // namespace fuselink

#endif
