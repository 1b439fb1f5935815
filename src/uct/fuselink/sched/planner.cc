/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "planner.h"

#include <algorithm>
#include <cmath>

namespace fuselink::sched {
namespace {

/* How often a path's cost may be looked at in filling and in improving, each.
 * A look takes one to two nanoseconds, so this is some ten microseconds. */
constexpr uint32_t max_evaluations = 8192;

/* Pieces per demand. Fewer leave more to be improved than a sweep can; more
 * are below what is left of improvement anyway. */
constexpr uint32_t least_rounds = 4;
constexpr uint32_t most_rounds = 32;

/* Sweeps of improvement. One move per demand and sweep spreads a load over one
 * more path, so few demands need many and many demands need few. */
constexpr uint32_t least_sweeps = 4;
constexpr uint32_t most_sweeps = 256;

/* A sweep that moved nothing by more than this part of the worst time ends
 * them: well below the margin by which a plan must be better to be taken. */
constexpr double settled = 0.002;

/* How much the cheaper link of a path counts: enough to tell one bottleneck
 * from two, little enough not to leave a bottleneck for its sake. */
constexpr double second_link = 1.0 / 64;

} // namespace

Planner::Planner(const Maxima &maxima)
    : m_links(maxima.links), m_max_links(maxima.links), m_fresh(maxima.paths)
{
    for (Split *split : {&m_new, &m_old}) {
        split->demands.resize(maxima.demands);
        split->paths.resize(maxima.paths);
        split->bytes.resize(maxima.paths);
    }
}

void Planner::begin() noexcept
{
    std::swap(m_new, m_old);
    m_new.n_demands = 0;
    m_new.n_paths = 0;
    m_n_links = 0;
    m_kept = false;
}

uint32_t Planner::add_link(Rate capacity, Bytes loaded) noexcept
{
    if (m_n_links == m_max_links) {
        return none;
    }
    const double rate = std::max(capacity.bytes_per_second(), 1.0);
    m_links[m_n_links] = Link{.time = 0,
                              .per_byte = 1 / rate,
                              .loaded = static_cast<double>(loaded.count())};
    return m_n_links++;
}

uint32_t Planner::add_demand(uint64_t key, Bytes bytes,
                             std::span<const Path> candidates) noexcept
{
    if (candidates.empty() || (m_new.n_demands == m_new.demands.size()) ||
        (candidates.size() > m_new.paths.size() - m_new.n_paths))
    {
        return none;
    }
    for (const Path &path : candidates) {
        if ((path.tx >= m_n_links) || (path.rx >= m_n_links)) {
            return none;
        }
    }
    const auto count = static_cast<uint32_t>(candidates.size());
    m_new.demands[m_new.n_demands] =
            Demand{.key = key,
                   .bytes = static_cast<double>(bytes.count()),
                   .first = m_new.n_paths,
                   .count = count,
                   .before = none};
    std::copy(candidates.begin(), candidates.end(),
              m_new.paths.begin() + m_new.n_paths);
    std::fill_n(m_new.bytes.begin() + m_new.n_paths, count, 0.0);
    m_new.n_paths += count;
    return m_new.n_demands++;
}

std::span<const double> Planner::split(uint32_t demand) const noexcept
{
    if (demand >= m_new.n_demands) {
        return {};
    }
    const Demand &d = m_new.demands[demand];
    return {m_new.bytes.data() + d.first, d.count};
}

double Planner::cost(const Path &path) const noexcept
{
    const double a = m_links[path.tx].time;
    const double b = m_links[path.rx].time;
    return std::max(a, b) + second_link * std::min(a, b);
}

double Planner::highest() const noexcept
{
    double worst = 0;
    for (uint32_t i = 0; i < m_n_links; ++i) {
        worst = std::max(worst, m_links[i].time);
    }
    return worst;
}

void Planner::unload() noexcept
{
    for (uint32_t i = 0; i < m_n_links; ++i) {
        m_links[i].time = m_links[i].loaded * m_links[i].per_byte;
    }
    std::fill_n(m_new.bytes.begin(), m_new.n_paths, 0.0);
}

/* More or, below 0, less bytes on a path. */
void Planner::load(uint32_t path, double bytes) noexcept
{
    const Path &p = m_new.paths[path];
    m_new.bytes[path] += bytes;
    m_links[p.tx].time += bytes * m_links[p.tx].per_byte;
    if (p.rx != p.tx) {
        m_links[p.rx].time += bytes * m_links[p.rx].per_byte;
    }
}

/* Which demands were there before. They mostly come in the same order, so the
 * search goes on where the last one ended. */
void Planner::find_old() noexcept
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < m_new.n_demands; ++i) {
        Demand &demand = m_new.demands[i];
        for (uint32_t n = 0; n < m_old.n_demands; ++n, ++at) {
            at = (at >= m_old.n_demands) ? 0 : at;
            const Demand &old = m_old.demands[at];
            if (old.key != demand.key) {
                continue;
            }
            if ((old.count == demand.count) && (old.bytes > 0) &&
                std::equal(m_old.paths.begin() + old.first,
                           m_old.paths.begin() + old.first + old.count,
                           m_new.paths.begin() + demand.first))
            {
                demand.before = at;
            }
            ++at;
            break;
        }
    }
}

/* Loads the shares that the demand had before, if it was there. */
bool Planner::keep(uint32_t demand) noexcept
{
    const Demand &d = m_new.demands[demand];
    if (d.before == none) {
        return false;
    }
    const Demand &old = m_old.demands[d.before];
    const double scale = d.bytes / old.bytes;
    for (uint32_t i = 0; i < d.count; ++i) {
        load(d.first + i, m_old.bytes[old.first + i] * scale);
    }
    return true;
}

/* One piece of a demand down its cheapest path. */
void Planner::fill(const Demand &demand, double bytes) noexcept
{
    uint32_t best = demand.first;
    double least = std::numeric_limits<double>::infinity();
    for (uint32_t i = demand.first; i < demand.first + demand.count; ++i) {
        /* Where the piece would bring it, or a thin link would look free. */
        const Link &tx = m_links[m_new.paths[i].tx];
        const Link &rx = m_links[m_new.paths[i].rx];
        const double time = std::max(tx.time + bytes * tx.per_byte,
                                     rx.time + bytes * rx.per_byte);
        best = (time < least) ? i : best;
        least = std::min(least, time);
    }
    load(best, bytes);
}

void Planner::fill_all(bool old_too) noexcept
{
    const uint32_t paths = std::max(m_new.n_paths, 1u);
    const uint32_t rounds =
            std::clamp(max_evaluations / paths, least_rounds, most_rounds);
    for (uint32_t round = 0; round < rounds; ++round) {
        for (uint32_t i = 0; i < m_new.n_demands; ++i) {
            const Demand &demand = m_new.demands[i];
            if (old_too || (demand.before == none)) {
                fill(demand, demand.bytes / rounds);
            }
        }
    }
}

/* Moves bytes from the dearest path in use to the cheapest until both cost the
 * same or none are left. False: nothing worth it. */
bool Planner::improve(const Demand &demand) noexcept
{
    uint32_t from = none, to = demand.first;
    double dear = 0, cheap = std::numeric_limits<double>::infinity();
    for (uint32_t i = demand.first; i < demand.first + demand.count; ++i) {
        const double c = cost(m_new.paths[i]);
        if ((m_new.bytes[i] > 0) && (c > dear)) {
            dear = c;
            from = i;
        }
        if (c < cheap) {
            cheap = c;
            to = i;
        }
    }
    if ((from == none) || (dear - cheap <= settled * dear)) {
        return false;
    }

    /* Each link of the one path falls, each of the other rises, but one that
     * both have in common does neither. The bytes at which the last to fall
     * meets the first that has risen to it. */
    const Path &a = m_new.paths[from];
    const Path &b = m_new.paths[to];
    double bytes = 0;
    for (uint32_t falling : {a.tx, a.rx}) {
        if ((falling == b.tx) || (falling == b.rx)) {
            continue;
        }
        double until = std::numeric_limits<double>::infinity();
        for (uint32_t rising : {b.tx, b.rx}) {
            if ((rising == a.tx) || (rising == a.rx)) {
                continue;
            }
            const Link &f = m_links[falling];
            const Link &r = m_links[rising];
            until = std::min(until,
                             (f.time - r.time) / (f.per_byte + r.per_byte));
        }
        bytes = std::max(bytes, until);
    }
    bytes = std::min(bytes, m_new.bytes[from]);
    if (!(bytes > settled * m_new.bytes[from])) {
        return false;
    }
    load(from, -bytes);
    load(to, bytes);
    return true;
}

void Planner::improve_all() noexcept
{
    const uint32_t paths = std::max(m_new.n_paths, 1u);
    const uint32_t sweeps =
            std::clamp(max_evaluations / paths, least_sweeps, most_sweeps);
    for (uint32_t sweep = 0; sweep < sweeps; ++sweep) {
        bool moved = false;
        for (uint32_t i = 0; i < m_new.n_demands; ++i) {
            moved |= improve(m_new.demands[i]);
        }
        if (!moved) {
            break;
        }
    }
}

double Planner::solve() noexcept
{
    find_old();
    unload();
    fill_all(true);
    improve_all();
    const double fresh = highest();

    bool any_old = false;
    for (uint32_t i = 0; i < m_new.n_demands; ++i) {
        any_old |= (m_new.demands[i].before != none);
    }
    m_kept = false;
    if (!any_old) {
        return fresh;
    }

    /* The alternative: shares as they were, and the newcomers around them. */
    std::copy_n(m_new.bytes.begin(), m_new.n_paths, m_fresh.begin());
    unload();
    for (uint32_t i = 0; i < m_new.n_demands; ++i) {
        keep(i);
    }
    fill_all(false);
    const double old = highest();
    if (old <= fresh * (1 + margin)) {
        m_kept = true;
        return old;
    }
    std::copy_n(m_fresh.begin(), m_new.n_paths, m_new.bytes.begin());
    return fresh;
}

} // namespace fuselink::sched
