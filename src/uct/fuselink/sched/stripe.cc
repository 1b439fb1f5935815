/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "stripe.h"

#include "chunk.h"

#include <cmath>

namespace fuselink::sched {

Choice Stripe::next(std::span<const PathView> paths, Demand &demand,
                    const Limits &limits) const noexcept
{
    const auto count =
            static_cast<uint32_t>(std::min<size_t>(paths.size(), max_paths));
    if ((count == 0) || demand.remaining.is_zero()) {
        return Choice::none();
    }

    double sum = 0;
    for (uint32_t i = 0; i < count; ++i) {
        sum += paths[i].rate.bytes_per_second();
    }
    const bool all_equal = !(sum > 0);
    if (all_equal) {
        sum = count;
    }

    /* Bytes of the transfer per unit of weight, and the number of rounds over
     * which the most constrained path spreads its share. */
    const auto total = static_cast<double>(
            std::max(demand.total, demand.remaining).count());
    const double per_weight = total / sum;
    double rounds = 1;
    double heaviest = 1;
    for (uint32_t i = 0; i < count; ++i) {
        const double weight = all_equal ? 1 : paths[i].rate.bytes_per_second();
        heaviest = (i == 0) ? weight : std::max(heaviest, weight);
        const auto most =
                static_cast<double>(largest_chunk(paths[i], limits).count());
        rounds = std::max(rounds, std::ceil(per_weight * weight / most));
    }

    /* The cursor counts turns: path after path, round after round. A path
     * whose part of a round is less than a chunk may have sits out rounds, so
     * that its share stays what it is. */
    const auto least = static_cast<double>(
            std::max(limits.min_chunk, Bytes(1)).count());
    rounds = std::min(rounds, std::max(1.0, per_weight * heaviest / least));
    for (;; ++demand.cursor) {
        const uint32_t turn = demand.cursor % count;
        const double weight =
                all_equal ? 1 : paths[turn].rate.bytes_per_second();
        const double part = per_weight * weight / rounds;
        if (!(part > 0)) {
            continue;
        }
        const double every =
                weight < heaviest ? std::max(1.0, std::ceil(least / part)) : 1;
        if (std::fmod(demand.cursor / count, every) != 0) {
            continue;
        }
        if (!has_room(paths[turn])) {
            return Choice::none();
        }
        ++demand.cursor;
        const Bytes piece(static_cast<uint64_t>(std::ceil(part * every)));
        return Choice{turn, chunk_length(piece, demand.remaining, limits)};
    }
}

const char *Stripe::name() const noexcept
{
    return "stripe";
}

} // namespace fuselink::sched
