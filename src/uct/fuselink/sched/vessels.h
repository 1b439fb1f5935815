/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_SCHED_VESSELS_H
#define FUSELINK_SCHED_VESSELS_H

#include "policy.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

/* Water-filling, the arithmetic inside `finish`. Not for use by callers. */
namespace fuselink::sched {

/** A set of paths as a bit mask. */
using PathSet = uint32_t;
static_assert(max_paths <= 32);

constexpr PathSet only(uint32_t path) noexcept
{
    return PathSet(1) << path;
}

/** The first @a count paths. */
constexpr PathSet first_of(uint32_t count) noexcept
{
    return static_cast<PathSet>((uint64_t(1) << count) - 1);
}

template <typename F>
constexpr void for_each(PathSet set, F &&f) noexcept
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
     *  as the better one: measured rates of equal rails differ by as much, and
     *  without this the small transfers of all processes of a node would meet
     *  on one rail. Only for our bytes: waiting for others is not at home. */
    static constexpr double home_bonus = 15.0 / 16;

    double share(uint32_t path, double level) const noexcept
    {
        return rate[path] * level - base[path];
    }

    /** When the path is done with so many bytes; the home seems faster. */
    double finish(uint32_t path, double bytes) const noexcept
    {
        const double ours = (path == home) ? bytes * home_bonus : bytes;
        return (base[path] + ours) / rate[path];
    }

    /**
     * Divide the work so that it is done as early as possible while nobody
     * gets less than min_share, or nothing. All are then done at one level,
     * which is returned, but for those who get just min_share, a little more
     * than they would have by then.
     *
     * @param work      Bytes, above 0.
     * @param min_share Bytes, 0 or more.
     * @param members   In: not empty. Out: those with a share; one at least,
     *                  and if only one, it has all the work.
     */
    double pour(double work, double min_share, PathSet &members) const noexcept
    {
        /* There are not more chunks than this, so neither are there paths. */
        const double chunks = work / std::max(min_share, 1.0);
        if (chunks < std::popcount(members)) {
            const uint32_t most = std::max(static_cast<uint32_t>(chunks), 1u);
            members = first_to_finish(members, most, work / most);
        }
        return settle(work, min_share, members);
    }

private:
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

    /* pour(), step by step: whoever's share is small either leaves or gets
     * min_share, until all that stay have a share. */
    double settle(double work, double min_share,
                  PathSet &members) const noexcept
    {
        PathSet rounded_up = 0;
        PathSet returned = 0;
        for (;;) {
            const Sum sum = sum_of(members, work);
            const double level = sum.level();
            PathSet small = 0;
            for_each(members, [&](uint32_t p) {
                const double s = share(p, level);
                small |= (s < min_share || s <= 0) ? only(p) : 0;
            });
            if ((small == 0) || std::has_single_bit(members)) {
                /* Who was rounded up may have a full share by now. Not twice,
                 * or this might go on and on. */
                PathSet full = 0;
                for_each(rounded_up, [&](uint32_t p) {
                    full |= (share(p, level) > min_share) ? only(p) : 0;
                });
                if (full == 0) {
                    members |= rounded_up;
                    return level;
                }
                work += min_share * std::popcount(full);
                members |= full;
                returned |= full;
                rounded_up &= ~full;
                continue;
            }

            const PathSet lost =
                    hopeless(members & ~small, small, work, min_share);
            if (lost != 0) {
                members &= ~lost;
                continue;
            }

            const PathSet upward =
                    (work < 2 * min_share) ? 0 : small & ~returned;
            const Verdict verdict = judge(small, upward, sum, min_share);
            members &= ~only(verdict.path);
            if (verdict.round_up) {
                rounded_up |= only(verdict.path);
                work -= min_share;
            }
        }
    }

    /* Of the members the `most` that finish so many bytes first; `most` is
     * less than their number. */
    PathSet first_to_finish(PathSet members, uint32_t most,
                            double bytes) const noexcept
    {
        if (most == 1) {
            /* All small transfers come here: a plain search. */
            PathSet best = 0;
            double earliest = 0;
            for_each(members, [&](uint32_t p) {
                const double time = finish(p, bytes);
                if ((best == 0) || (time < earliest)) {
                    earliest = time;
                    best = only(p);
                }
            });
            return best;
        }
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

    struct Verdict {
        uint32_t path;
        bool round_up;
    };

    /* Which of the small ones to settle first, and how: the way after which
     * all could be done earliest. Only `upward` may be rounded up. */
    Verdict judge(PathSet small, PathSet upward, const Sum &sum,
                  double min_share) const noexcept
    {
        Verdict verdict{0, false};
        double earliest = std::numeric_limits<double>::infinity();
        for_each(small, [&](uint32_t p) {
            const double without = (sum.base - base[p]) / (sum.rate - rate[p]);
            const double with = finish(p, min_share);
            const bool up = ((upward & only(p)) != 0) && (with < without);
            const double time = up ? with : without;
            if (time < earliest) {
                earliest = time;
                verdict = Verdict{p, up};
            }
        });
        return verdict;
    }
};

} // namespace fuselink::sched

#endif
