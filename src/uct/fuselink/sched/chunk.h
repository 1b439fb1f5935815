/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_SCHED_CHUNK_H
#define FUSELINK_SCHED_CHUNK_H

#include "policy.h"

#include <algorithm>

/* Rules about chunks which all policies share. Not for use by callers. */
namespace fuselink::sched {

/** What a window divides into. Four chunks keep a path busy while one is
 *  acknowledged and its successor is decided, even when the process loses its
 *  CPU for a chunk's time or two; more would only be committed too early. */
inline constexpr uint64_t chunks_per_window = 4;

/** The path can take a chunk now. */
constexpr bool has_room(const PathView &path) noexcept
{
    return path.open &&
           (path.in_flight.is_zero() || (path.in_flight < path.window));
}

/** The largest chunk for a path: it leaves room for others in its window, so
 *  that the path does not fall idle between two chunks. Never 0. */
constexpr Bytes largest_chunk(const PathView &path,
                              const Limits &limits) noexcept
{
    const Bytes part =
            std::max(limits.min_chunk, path.window / chunks_per_window);
    return std::max(std::min(limits.max_chunk, part), Bytes(1));
}

/**
 * The length of a chunk that should have about @a want bytes of the
 * @a remaining (not 0): at least min_chunk, and no crumb below min_chunk is
 * left behind. A chunk that is not the last is a multiple of 256 bytes, a
 * common PCIe payload, if min_chunk is: then all offsets stay aligned.
 */
constexpr Bytes chunk_length(Bytes want, Bytes remaining,
                             const Limits &limits) noexcept
{
    constexpr uint64_t align = 256;
    const Bytes least = std::max(limits.min_chunk, Bytes(1));
    const Bytes most =
            std::min(remaining, std::max(limits.max_chunk, Bytes(1)));

    want = std::min(std::max(want, least), most);
    if (most == remaining && remaining - want < least) {
        return remaining;
    }
    if (remaining - want < least && remaining - least >= least) {
        /* A crumb too many for this chunk: leave enough for a decent one. */
        want = remaining - least;
    }
    const Bytes aligned = want / align * align;
    return (aligned >= least) ? aligned : want;
}

} // namespace fuselink::sched

#endif
