/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_SCHED_PLANNER_H
#define FUSELINK_SCHED_PLANNER_H

#include "units.h"

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace fuselink::sched {

/**
 * Divides many transfers that are posted together over their paths, so that
 * the link that is busy longest is done as early as possible: minimises the
 * largest (bytes already loaded + bytes planned) / capacity over all links.
 *
 * The method is that of NIMBLE (arXiv 2604.00317) after Garg and Koenemann:
 * every link has a weight that grows by a factor with each piece sent over it;
 * all demands in turn send a piece down the path which is cheapest at that
 * moment, where a path costs what its dearer link does and not the sum of
 * both, since a stream runs at its bottleneck. The weight of a link is
 * exp(load / capacity) up to a constant in the exponent, and only which of two
 * is larger ever matters, so what is stored and compared is the exponent.
 *
 * Pieces are never taken back in that method. What came early is out of place
 * by the end where links are unequally loaded to begin with, so some sweeps
 * follow in which each demand moves bytes from its dearest path to its cheapest
 * until both cost the same. No step makes the dearest link dearer. A little of
 * the cheaper link is part of the cost there (second_link in planner.cc): of
 * paths with the same bottleneck one with one bottleneck is better than one
 * with two.
 *
 * A split that changed with every call would throw away what the paths have in
 * flight and open connections for crumbs. So a demand that was there at the
 * last call, by its key, keeps its shares unless the new plan is better by
 * more than `margin`.
 *
 * Memory is allocated at construction and never again. The work of solve() is
 * bounded, see max_evaluations in planner.cc. Not thread-safe.
 */
class Planner {
public:
    struct Maxima {
        uint32_t links;
        uint32_t demands;
        uint32_t paths; /**< candidates of all demands together */
    };

    /** A candidate of a demand: links of ours and of the peer, by index. */
    struct Path {
        uint32_t tx;
        uint32_t rx;
        constexpr bool operator==(const Path &) const noexcept = default;
    };

    static constexpr uint32_t none = std::numeric_limits<uint32_t>::max();

    /** A new plan has to be better than the old one by this part. Rates that
     *  are measured differ by some percent from one moment to the next; below
     *  that a better plan is not better. */
    static constexpr double margin = 0.05;

    explicit Planner(const Maxima &maxima);

    /** Forget links and demands, but not how the last ones were split. */
    void begin() noexcept;

    /** @return Its index, or none: there are Maxima::links already. A link of
     *          capacity 0 is taken as one byte per second. */
    uint32_t add_link(Rate capacity, Bytes loaded) noexcept;

    /**
     * @param key   By which it is known in the next call: a peer, say.
     * @param bytes To be divided; may be 0.
     * @return Its index, or none: no candidate, one with a link that was not
     *         added, or more than the maxima allow.
     */
    uint32_t add_demand(uint64_t key, Bytes bytes,
                        std::span<const Path> candidates) noexcept;

    /** Divide all demands. @return The largest load over capacity of all
     *  links, in seconds. */
    double solve() noexcept;

    /** Bytes for each candidate, in the order of add_demand(); their sum is
     *  the demand. Until the next begin(). */
    std::span<const double> split(uint32_t demand) const noexcept;

    /** Whether the last solve() kept the shares of the one before. */
    bool kept() const noexcept { return m_kept; }

private:
    struct Link {
        double time; /* load / capacity: the weight's exponent */
        double per_byte;
        double loaded;
    };

    struct Demand {
        uint64_t key;
        double bytes;
        uint32_t first;
        uint32_t count;
        uint32_t before; /* the same one in m_old, or none */
    };

    struct Split {
        std::vector<Demand> demands;
        std::vector<Path> paths;
        std::vector<double> bytes;
        uint32_t n_demands = 0;
        uint32_t n_paths = 0;
    };

    double cost(const Path &path) const noexcept;
    double highest() const noexcept;
    void unload() noexcept;
    void load(uint32_t path, double bytes) noexcept;
    void find_old() noexcept;
    bool keep(uint32_t demand) noexcept;
    void fill(const Demand &demand, double bytes) noexcept;
    void fill_all(bool old_too) noexcept;
    bool improve(const Demand &demand) noexcept;
    void improve_all() noexcept;

    std::vector<Link> m_links;
    uint32_t m_n_links = 0;
    uint32_t m_max_links;
    Split m_new;
    Split m_old;
    std::vector<double> m_fresh; /* bytes of the new plan, beside the kept */
    bool m_kept = false;
};

} // namespace fuselink::sched

#endif
