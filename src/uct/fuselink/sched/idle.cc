/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "idle.h"

#include "chunk.h"
#include "vessels.h"
#include "window.h"

namespace fuselink::sched {
namespace {

using Standing = PathView::Standing;

/* The piece of a batch that goes to a lent path at once. */
Bytes piece_of(Bytes batch, const PathView &path, const Limits &limits) noexcept
{
    const Bytes half = std::max(batch / 2, limits.min_chunk);
    return std::min(half, largest_chunk(path, limits));
}

/* Whether an indirect path of which nobody else makes use may have more. */
bool may_borrow(const PathView &path, const Limits &limits) noexcept
{
    if (!has_room(path) || !path.ahead.is_zero()) {
        return false;
    } else if ((path.standing != Standing::Lent) || path.in_flight.is_zero()) {
        return true;
    }
    const Bytes batch = quantum_for(path.rate, limits);
    return path.in_flight + piece_of(batch, path, limits) <= batch;
}

Choice batch_on(uint32_t path, std::span<const PathView> paths,
                const Demand &demand, const Limits &limits) noexcept
{
    const PathView &view = paths[path];
    const Bytes batch = quantum_for(view.rate, limits);
    const Bytes want = (view.standing == Standing::Lent) ?
                               piece_of(batch, view, limits) :
                               std::min(batch, largest_chunk(view, limits));
    return Choice{path, chunk_length(want, demand.remaining, limits)};
}

/* The one with the least to do so far. */
class Least {
public:
    void consider(uint32_t path, const PathView &view) noexcept
    {
        const double rate = std::max(view.rate.bytes_per_second(), 1.0);
        const double time =
                static_cast<double>((view.in_flight + view.ahead).count()) /
                rate;
        if (!m_found || (time < m_time)) {
            m_found = true;
            m_path = path;
            m_time = time;
        }
    }

    explicit operator bool() const noexcept { return m_found; }
    uint32_t path() const noexcept { return m_path; }

private:
    double m_time = 0;
    uint32_t m_path = 0;
    bool m_found = false;
};

} // namespace

Choice Idle::next(std::span<const PathView> paths, Demand &demand,
                  const Limits &limits) const noexcept
{
    const auto count =
            static_cast<uint32_t>(std::min<size_t>(paths.size(), max_paths));
    if ((count == 0) || demand.remaining.is_zero()) {
        return Choice::none();
    }

    PathSet own = 0, taken = 0;
    for (uint32_t p = 0; p < count; ++p) {
        own |= (paths[p].standing == Standing::Own) ? only(p) : 0;
        taken |= (paths[p].standing == Standing::Taken) ? only(p) : 0;
    }
    PathSet usable = first_of(count);
    if (taken != usable) {
        usable &= ~taken;
    }

    /* Among equals the home comes first, then those after it, so that the
     * transfers of a process do not all start on the same path. */
    const uint32_t home = demand.home % count;
    const PathSet upper = usable & ~(only(home) - 1);
    const PathSet lower = usable & (only(home) - 1);
    const PathSet first = (upper != 0) ? upper : lower;
    const PathSet direct = (own != 0) ? own : first & (~first + 1);

    Choice idle = Choice::none();
    Least borrowed, busy, any;
    bool waking = false;
    for (const PathSet part : {upper, lower}) {
        for_each(part, [&](uint32_t p) {
            const PathView &path = paths[p];
            waking |= !path.in_flight.is_zero();
            if (!has_room(path)) {
                return;
            }
            any.consider(p, path);
            if ((direct & only(p)) != 0) {
                if (!idle && path.in_flight.is_zero() && path.ahead.is_zero()) {
                    idle = batch_on(p, paths, demand, limits);
                }
                busy.consider(p, path);
            } else if ((taken & only(p)) != 0) {
                return;
            } else if (may_borrow(path, limits)) {
                borrowed.consider(p, path);
            } else if (path.standing == Standing::Free) {
                /* Others' bytes are ahead, and nobody has it for his own: else of two
                 * such processes that want all of it none would use it. */
                busy.consider(p, path);
            }
        });
    }

    if (idle) {
        return idle;
    }
    for (const Least &least : {borrowed, busy}) {
        if (least) {
            return batch_on(least.path(), paths, demand, limits);
        }
    }
    return (any && !waking) ? batch_on(any.path(), paths, demand, limits) :
                              Choice::none();
}

const char *Idle::name() const noexcept
{
    return "idle";
}

} // namespace fuselink::sched
