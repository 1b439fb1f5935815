/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "plan.h"

#include "chunk.h"
#include "finish.h"
#include "vessels.h"
#include "window.h"

#include <bit>

namespace fuselink::sched {
namespace {

constexpr Finish without_plan;

/* Rates that are measured go up and down by a third without meaning anything;
 * a path on which another program has started is half as fast. */
constexpr double patience = 1.5;

double as_double(Bytes bytes) noexcept
{
    return static_cast<double>(bytes.count());
}

double rate_of(const PathView &path) noexcept
{
    return std::max(path.rate.bytes_per_second(), 1.0);
}

/* What the plan wants on the path; not a number is nothing. */
double wanted(const PathView &path) noexcept
{
    return (path.planned > 0) ? path.planned : 0;
}

/* The time of the slowest part, in units of what all paths need for the whole
 * transfer. It shrinks as chunks are posted, is the same when all paths are
 * faster or slower than thought, and grows when one is. The first value is
 * kept in the transfer's cursor. */
bool out_of_date(double time, Demand &demand) noexcept
{
    const auto now = static_cast<float>(time);
    const auto promised = std::bit_cast<float>(demand.cursor);
    if (demand.cursor == 0) {
        demand.cursor = std::bit_cast<uint32_t>(now);
        return false;
    }
    return !(now <= promised * patience);
}

} // namespace

Choice Plan::next(std::span<const PathView> paths, Demand &demand,
                  const Limits &limits) const noexcept
{
    if (!demand.planned) {
        return without_plan.next(paths, demand, limits);
    }
    const auto count =
            static_cast<uint32_t>(std::min<size_t>(paths.size(), max_paths));
    if ((count == 0) || demand.remaining.is_zero()) {
        return Choice::none();
    }

    PathSet taken = 0;
    double wants = 0, rates = 0;
    for (uint32_t p = 0; p < count; ++p) {
        if (paths[p].standing == PathView::Standing::Taken) {
            taken |= only(p);
            continue;
        }
        wants += wanted(paths[p]);
        rates += rate_of(paths[p]);
    }

    /* Others may have carried a part of this path's, while the plan was not
     * followed; then all parts are smaller by as much. */
    const double remaining = as_double(demand.remaining);
    const double scale = (wants > remaining) ? remaining / wants : 1;
    const double crumb =
            std::max(as_double(limits.min_chunk) / 2, 1.0);
    Vessels vessels;
    vessels.home = demand.home % count;
    Choice best = Choice::none();
    double best_time = 0, slowest = 0;
    bool waking = false;
    for_each(first_of(count) & ~taken, [&](uint32_t p) {
        const PathView &path = paths[p];
        const double want = wanted(path) * scale;
        if (!(want >= crumb)) {
            return;
        }
        const double rate = rate_of(path);
        slowest = std::max(slowest, want / rate);
        if (!has_room(path)) {
            waking |= !path.in_flight.is_zero();
            return;
        }
        const Bytes quantum =
                std::min(largest_chunk(path, limits),
                         std::max(quantum_for(path.rate, limits), Bytes(1)));
        double length = std::min(want, as_double(quantum));
        if (want - length < crumb) {
            length = want; /* the path's last, with the crumb behind it */
        }
        vessels.rate[p] = rate;
        vessels.base[p] =
                rate * std::max(path.overhead, Nanos()).as_seconds() +
                as_double(path.in_flight - path.drained + path.ahead);
        const double time = vessels.finish(p, length);
        if (!best || (time < best_time)) {
            best = Choice{p, std::max(Bytes(static_cast<uint64_t>(length)),
                                      Bytes(1))};
            best_time = time;
        }
    });

    const bool lost = !best && !waking;
    if (lost || out_of_date(slowest * rates / as_double(demand.total), demand))
    {
        return without_plan.next(paths, demand, limits);
    }
    if (best) {
        best.length = chunk_length(best.length, demand.remaining, limits);
    }
    return best;
}

const char *Plan::name() const noexcept
{
    return "plan";
}

} // namespace fuselink::sched
