/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "single.h"

#include "chunk.h"

namespace fuselink::sched {

Choice Single::next(std::span<const PathView> paths, Demand &demand,
                    const Limits &limits) const noexcept
{
    const auto count =
            static_cast<uint32_t>(std::min<size_t>(paths.size(), max_paths));
    if ((count == 0) || demand.remaining.is_zero()) {
        return Choice::none();
    }

    const uint32_t home = demand.home % count;
    if (!has_room(paths[home])) {
        return Choice::none();
    }
    return Choice{home, chunk_length(largest_chunk(paths[home], limits),
                                     demand.remaining, limits)};
}

const char *Single::name() const noexcept
{
    return "single";
}

} // namespace fuselink::sched
