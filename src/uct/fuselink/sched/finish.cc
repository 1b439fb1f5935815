/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "finish.h"

#include "chunk.h"
#include "vessels.h"
#include "window.h"

namespace fuselink::sched {
namespace {

/* A path is tried out with one smallest chunk only when at least so many
 * smallest chunks are to be sent or on their way: of short messages there is
 * seldom more than one to be sent. */
constexpr uint64_t probe_ratio = 16;

/* A share below hold_share quanta waits while its path has work for hold_time
 * chunk times. Two quanta because then the next chunk is the last or last but
 * one; one and a half chunk times because a chunk under way completes within
 * that, and so the path is looked at again before it runs dry. */
constexpr double hold_share = 2;
constexpr double hold_time = 1.5;

double as_double(Bytes bytes) noexcept
{
    return static_cast<double>(bytes.count());
}

} // namespace

Choice Finish::next(std::span<const PathView> paths, Demand &demand,
                    const Limits &limits) const noexcept
{
    const auto count =
            static_cast<uint32_t>(std::min<size_t>(paths.size(), max_paths));
    if ((count == 0) || demand.remaining.is_zero()) {
        return Choice::none();
    }

    Vessels vessels;
    vessels.home = demand.home % count;
    PathSet taken = 0;   /* paths whose NIC somebody else needs */
    PathSet members = 0; /* paths that count */
    PathSet free = 0;    /* those that can take a chunk now */
    PathSet probes = 0;  /* those of them that are idle and of unproved rate */
    Bytes under_way;

    for (uint32_t p = 0; p < count; ++p) {
        const PathView &path = paths[p];
        const bool idle = path.in_flight.is_zero();
        taken |= (path.standing == PathView::Standing::Taken) ? only(p) : 0;
        under_way += path.in_flight;
        if (has_room(path)) {
            free |= only(p);
            probes |= (idle && path.probe) ? only(p) : 0;
        } else if (idle) {
            /* Closed, and nothing on it will wake us: as if it were not. */
            continue;
        }
        members |= only(p);
        const double rate = std::max(path.rate.bytes_per_second(), 1.0);
        const double latency = std::max(path.overhead, Nanos()).as_seconds();
        vessels.rate[p] = rate;
        vessels.base[p] =
                rate * latency +
                as_double(path.in_flight - path.drained + path.ahead);
    }
    if (taken != first_of(count)) {
        members &= ~taken;
        free &= ~taken;
        probes &= ~taken;
    }
    if (free == 0) {
        return Choice::none();
    }

    const Bytes work = demand.remaining + demand.backlog;
    const double min_share = as_double(limits.min_chunk);
    const double level = vessels.pour(as_double(work), min_share, members);

    Choice best = Choice::none();
    probes &= ~members;
    if (work + under_way >= limits.min_chunk * probe_ratio) {
        for_each(probes, [&](uint32_t p) {
            if (!best && (vessels.share(p, level) > 0)) {
                best = Choice{p, chunk_length(limits.min_chunk,
                                              demand.remaining, limits)};
            }
        });
        if (best) {
            return best;
        }
    }

    const double plenty =
            hold_time * std::max(limits.chunk_time, Nanos()).as_seconds();
    double best_time = 0;
    for_each(members & free, [&](uint32_t p) {
        const PathView &path = paths[p];
        const double share = std::max(vessels.share(p, level), min_share);
        Bytes length =
                std::min(largest_chunk(path, limits),
                         std::max(quantum_for(path.rate, limits), Bytes(1)));
        if ((share < hold_share * as_double(length)) &&
            (as_double(path.in_flight - path.drained) >
             plenty * vessels.rate[p]))
        {
            return;
        }
        if (share < as_double(length + limits.min_chunk)) {
            /* The path's last chunk; it takes a crumb of the share along. */
            length = Bytes(static_cast<uint64_t>(share));
        }
        length = std::clamp(length, Bytes(1), demand.remaining);

        const double time = vessels.finish(p, as_double(length));
        if (!best || (time < best_time)) {
            best = Choice{p, length};
            best_time = time;
        }
    });

    if (best) {
        best.length = chunk_length(best.length, demand.remaining, limits);
    }
    return best;
}

const char *Finish::name() const noexcept
{
    return "finish";
}

} // namespace fuselink::sched
