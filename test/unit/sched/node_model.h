/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_SCHED_NODE_MODEL_H
#define FUSELINK_TEST_SCHED_NODE_MODEL_H

#include "uct/fuselink/sched/policy.h"
#include "uct/fuselink/sched/window.h"

#include <algorithm>
#include <deque>
#include <queue>
#include <string>
#include <vector>

namespace fuselink::sched::test {

/**
 * Processes of one node that share its NICs, with a virtual clock. A NIC
 * serves the chunks of all processes first come first served; everybody sees
 * what the others have on it, and an owner uses his NIC while something of his
 * is in flight on any. Each process has one transfer from some time on.
 */
class NodeModel {
public:
    struct Process {
        Bytes size;
        Nanos start{};
        uint32_t own; /**< its NIC; not below the number of NICs: none */
        /** Shares of a plan, per NIC; empty: none. */
        std::vector<double> plan{};
    };

    NodeModel(const Policy &policy, std::vector<Rate> nics,
              std::vector<Process> processes)
        : m_policy(policy), m_rates(std::move(nics)),
          m_busy_until(m_rates.size())
    {
        m_limits.chunk_time = Nanos::millis(2); /* the transport's default */
        for (const Process &p : processes) {
            State s;
            s.process = p;
            s.demand.remaining = s.demand.total = p.size;
            s.demand.home = p.own < m_rates.size() ? p.own : 0;
            s.demand.planned = !p.plan.empty();
            s.unacked = p.size;
            s.planned = p.plan;
            s.planned.resize(m_rates.size());
            s.in_flight.resize(m_rates.size());
            s.chunks.resize(m_rates.size());
            m_states.push_back(s);
        }
    }

    /** When each process was done; empty when one got stuck. */
    std::vector<Nanos> run()
    {
        Nanos now;
        for (;;) {
            for (uint32_t i = 0; i < m_states.size(); ++i) {
                schedule(i, now);
            }
            Nanos next = Nanos::max();
            for (const State &s : m_states) {
                if (s.process.start > now) {
                    next = std::min(next, s.process.start);
                }
            }
            if (!m_events.empty()) {
                next = std::min(next, m_events.top().when);
            }
            if (next == Nanos::max()) {
                break;
            }
            now = next;
            while (!m_events.empty() && m_events.top().when <= now) {
                const Event e = m_events.top();
                m_events.pop();
                State &s = m_states[e.process];
                s.in_flight[e.nic] -= e.length;
                s.chunks[e.nic].pop_front();
                s.unacked -= e.length;
                s.done = now;
            }
        }
        std::vector<Nanos> done;
        for (const State &s : m_states) {
            if (!s.unacked.is_zero()) {
                return {};
            }
            done.push_back(s.done);
        }
        return done;
    }

    /** The most that a process had on a NIC that it had borrowed. */
    Bytes most_borrowed() const { return m_most_borrowed; }
    /** Chunks that went to a NIC whose owner was using it. */
    int trespasses() const { return m_trespasses; }

private:
    struct Served {
        Nanos start, end;
        Bytes length;
    };

    struct State {
        Process process;
        Demand demand{};
        Bytes unacked{};
        std::vector<double> planned{};
        std::vector<Bytes> in_flight{};
        std::vector<std::deque<Served>> chunks{}; /* in flight, per NIC */
        Nanos done{};

        /* What a meter would say; here it is exact. */
        Bytes drained(uint32_t nic, Nanos now) const
        {
            double sum = 0;
            for (const Served &c : chunks[nic]) {
                const double part = (now - c.start).as_seconds() /
                                    (c.end - c.start).as_seconds();
                sum += std::clamp(part, 0.0, 1.0) * double(c.length.count());
            }
            return Bytes(uint64_t(sum));
        }
    };

    struct Event {
        Nanos when;
        uint64_t order;
        uint32_t process;
        uint32_t nic;
        Bytes length;
        bool operator>(const Event &o) const
        {
            return (when != o.when) ? when > o.when : order > o.order;
        }
    };

    PathView::Standing standing(uint32_t process, uint32_t nic, Nanos now) const
    {
        using enum PathView::Standing;
        if (m_states[process].process.own == nic) {
            return Own;
        }
        for (const State &s : m_states) {
            if (s.process.own == nic) {
                return (s.process.start <= now && !s.unacked.is_zero()) ? Taken :
                                                                          Lent;
            }
        }
        return Free;
    }

    void schedule(uint32_t process, Nanos now)
    {
        State &s = m_states[process];
        while (s.process.start <= now && !s.demand.remaining.is_zero()) {
            std::vector<PathView> paths;
            for (uint32_t n = 0; n < m_rates.size(); ++n) {
                PathView v{.rate = m_rates[n],
                           .overhead = overhead,
                           .in_flight = s.in_flight[n],
                           .window = window_for(m_rates[n], m_limits, overhead)};
                for (const State &other : m_states) {
                    v.ahead += (&other == &s) ? Bytes() : other.in_flight[n];
                }
                v.standing = standing(process, n, now);
                v.drained = s.drained(n, now);
                v.planned = s.planned[n];
                paths.push_back(v);
            }
            const Choice c = m_policy.next(paths, s.demand, m_limits);
            if (!c) {
                return;
            }
            const Nanos start = std::max(now, m_busy_until[c.path]);
            m_busy_until[c.path] = start + c.length / m_rates[c.path];
            m_events.push({m_busy_until[c.path] + overhead, m_order++, process,
                           c.path, c.length});
            s.chunks[c.path].push_back(
                    {start, m_busy_until[c.path], c.length});
            s.demand.remaining -= c.length;
            s.in_flight[c.path] += c.length;
            s.planned[c.path] -= double(c.length.count());
            const auto whose = paths[c.path].standing;
            m_trespasses += (whose == PathView::Standing::Taken) ? 1 : 0;
            if (whose == PathView::Standing::Lent) {
                m_most_borrowed = std::max(m_most_borrowed, s.in_flight[c.path]);
            }
        }
    }

    static constexpr Nanos overhead = Nanos(100'000);

    const Policy &m_policy;
    Limits m_limits{};
    std::vector<Rate> m_rates;
    std::vector<Nanos> m_busy_until;
    std::vector<State> m_states;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> m_events;
    uint64_t m_order = 0;
    Bytes m_most_borrowed;
    int m_trespasses = 0;
};

/** Seconds until the last is done; 0 when one got stuck. */
inline double seconds_of(const std::vector<Nanos> &done)
{
    return done.empty() ?
                   0 :
                   std::max_element(done.begin(), done.end())->as_seconds();
}

} // namespace fuselink::sched::test

#endif
