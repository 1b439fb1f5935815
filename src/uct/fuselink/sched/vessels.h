/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_SCHED_VESSELS_H
#define FUSELINK_SCHED_VESSELS_H

#include "policy.h"

#include <algorithm>
#include <bit>
#include <cstdint>

/* Water-filling, the arithmetic inside `finish`. Not for use by callers. */
namespace fuselink::sched {

/** A set of paths as a bit mask. */
using PathSet = uint32_t;
static_assert(max_paths <= 32);

constexpr PathSet only(uint32_t path) noexcept
{
    return PathSet(1) << path;
}

template <typename F> constexpr void for_each(PathSet set, F &&f) noexcept
{
    for (; set != 0; set &= set - 1) {
        f(static_cast<uint32_t>(std::countr_zero(set)));
    }
}

/**
 * Paths as vessels into which work is poured: until a time T, in seconds from
 * now, path p carries rate[p] * T - base[p] bytes of it. Entries of paths that
 * are in no set are never read; the arrays are too large to clear them.
 */
struct Vessels {
    double rate[max_paths]; /**< bytes per second, above 0 */
    double base[max_paths]; /**< rate * overhead + bytes before ours */
    uint32_t home;          /**< preferred among equals */

    /** The home path may look up to 1/16 slower than another and still counts
     *  as the better one: measured rates of equal rails differ by as much. */
    static constexpr double home_bonus = 15.0 / 16;

    double share(uint32_t path, double level) const noexcept
    {
        return rate[path] * level - base[path];
    }

    /** When the path is done with so many bytes; the home seems faster. */
    double finish(uint32_t path, double bytes) const noexcept
    {
        const double time = (base[path] + bytes) / rate[path];
        return (path == home) ? time * home_bonus : time;
    }

    /**
     * Pour the work over the members so that all are done at one level, which
     * is returned. Who would get nothing, or less than min_share, leaves the
     * set; the last one stays in any case.
     *
     * @param work      Bytes, above 0.
     * @param min_share Bytes, 0 or more.
     * @param members   In: not empty. Out: those with a share.
     */
    double pour(double work, double min_share, PathSet &members) const noexcept
    {
        const PathSet all = members;
        const double chunks = work / std::max(min_share, 1.0);
        if (chunks < std::popcount(members)) {
            /* There are not more chunks than this, so neither are there
             * paths. */
            const uint32_t most = std::max(static_cast<uint32_t>(chunks), 1u);
            members = first_to_finish(members, most, work / most);
        }

        double level = settle(work, min_share, members);
        if (chunks < few_chunks) {
            /* Leaving out small shares one by one goes astray when few paths
             * are left. Then one alone may be better, and that is easy to
             * see. */
            for_each(all, [&](uint32_t p) {
                const double alone = finish(p, work);
                if (alone < level) {
                    level = alone;
                    members = only(p);
                }
            });
            level = sum_of(members, work).level();
        }
        return level;
    }

private:
    /* Below so many chunks of work the paths are looked at one by one. */
    static constexpr double few_chunks = 4;

    /* pour() by leaving out members until those that stay have a share. */
    double settle(double work, double min_share,
                  PathSet &members) const noexcept
    {
        for (;;) {
            const Sum sum = sum_of(members, work);
            const double level = sum.level();
            PathSet late = 0;
            PathSet small = 0;
            for_each(members, [&](uint32_t p) {
                const double s = share(p, level);
                late |= (s <= 0) ? only(p) : 0;
                small |= (s < min_share) ? only(p) : 0;
            });
            if (((late | small) == 0) || std::has_single_bit(members)) {
                return level;
            }

            if (late != 0) {
                /* They lifted the level; without them it falls, so none of
                 * them would come back in. One always has a share, but not
                 * always to the last digit. */
                late &= (late == members) ? late - 1 : late;
                members &= ~late;
                continue;
            }

            const PathSet lost = hopeless(members & ~small, small, work,
                                          min_share);
            members &= ~((lost != 0) ? lost : least_missed(small, sum));
        }
    }

    struct Sum {
        double rate;
        double base; /* with the work */

        double level() const noexcept { return base / rate; }
    };

    Sum sum_of(PathSet set, double work) const noexcept
    {
        Sum sum{0, work};
        for_each(set, [&](uint32_t p) {
            sum.rate += rate[p];
            sum.base += base[p];
        });
        return sum;
    }

    /* Of the members the `most` that finish so many bytes first; `most` is
     * less than their number. */
    PathSet first_to_finish(PathSet members, uint32_t most,
                            double bytes) const noexcept
    {
        struct Entry {
            double time;
            uint32_t path;
        };
        Entry entries[max_paths];
        uint32_t count = 0;
        for_each(members, [&](uint32_t p) {
            entries[count++] = Entry{finish(p, bytes), p};
        });
        std::nth_element(entries, entries + most, entries + count,
                         [](const Entry &a, const Entry &b) {
                             return (a.time != b.time) ? a.time < b.time :
                                                         a.path < b.path;
                         });
        PathSet first = 0;
        for (uint32_t i = 0; i < most; ++i) {
            first |= only(entries[i].path);
        }
        return first;
    }

    /* The level is never higher than when all the small ones are gone. Those
     * that would be small even then are lost for certain, all at once. */
    PathSet hopeless(PathSet large, PathSet small, double work,
                     double min_share) const noexcept
    {
        PathSet lost = 0;
        if (large != 0) {
            const double highest = sum_of(large, work).level();
            for_each(small, [&](uint32_t p) {
                lost |= (share(p, highest) < min_share) ? only(p) : 0;
            });
        }
        return lost;
    }

    /* The one whose absence lifts the level least. */
    PathSet least_missed(PathSet small, const Sum &sum) const noexcept
    {
        PathSet victim = 0;
        double lowest = 0;
        for_each(small, [&](uint32_t p) {
            double without = (sum.base - base[p]) / (sum.rate - rate[p]);
            without /= (p == home) ? home_bonus : 1;
            if ((victim == 0) || (without < lowest)) {
                victim = only(p);
                lowest = without;
            }
        });
        return victim;
    }
};

} // namespace fuselink::sched

#endif
