/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_SCHED_RAIL_MODEL_H
#define FUSELINK_TEST_SCHED_RAIL_MODEL_H

#include "uct/fuselink/sched/policy.h"
#include "uct/fuselink/sched/rate_meter.h"
#include "uct/fuselink/sched/window.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <random>
#include <string>
#include <vector>

/*
 * A small discrete-event model of rails under a policy, with a virtual clock.
 *
 * A rail is what a TCP connection over a shaped NIC looks like to its user: it
 * serves chunks one after another at its rate (which may change with time) and
 * each chunk's acknowledgement arrives a fixed overhead after its last byte,
 * in order. Service times and acknowledgements can be made noisy, and the
 * process can be made to look only now and then.
 */
namespace fuselink::sched::test {

struct RailSpec {
    Rate rate;
    Nanos overhead = Nanos::micros(100);
    /* From these instants on the rail has another rate (ascending). */
    std::vector<std::pair<Nanos, Rate>> changes{};
    /* What the meter is told at first; the true rate if absent. */
    std::optional<Rate> prior{};
    /* Tells the meter (and the policy) this overhead; the true if absent. */
    std::optional<Nanos> told_overhead{};
};

struct ModelOptions {
    Limits limits{};
    bool oracle = false;      /* views carry the true rate */
    bool weights = false;     /* views carry the prior (for stripe) */
    bool show_drained = true; /* fill PathView::drained */
    double service_noise = 0; /* +- this fraction of a chunk's time */
    Nanos ack_noise{};        /* up to this much later */
    Nanos poll_every{};       /* acknowledgements seen only at multiples */
    uint64_t seed = 1;
    /* Closes a rail while it has this many chunks queued; 0: never. */
    uint32_t queue_depth = 0;
};

struct Posted {
    Nanos when;
    uint32_t transfer;
    uint32_t path;
    Bytes length;
};

struct TransferSpec {
    Bytes size;
    Nanos start{};
    uint32_t home = 0;
};

class Model {
public:
    Model(const Policy &policy, std::vector<RailSpec> rails,
          ModelOptions options = {})
        : m_policy(policy), m_options(options), m_rng(options.seed)
    {
        for (RailSpec &spec : rails) {
            m_rails.emplace_back(spec);
        }
    }

    /* Runs the transfers from the current virtual time on (their start times
     * are relative to it) and returns how long it took until the last
     * acknowledgement; nullopt when they got stuck. */
    std::optional<Nanos> run(std::vector<TransferSpec> transfers)
    {
        const Nanos began = m_now;
        m_live.clear();
        m_finished.assign(transfers.size(), Nanos());
        m_posted.clear();
        size_t arrived = 0;
        std::vector<Live> all;
        for (uint32_t i = 0; i < transfers.size(); ++i) {
            Live live;
            live.id = i;
            live.start = began + transfers[i].start;
            live.demand.remaining = live.demand.total = transfers[i].size;
            live.demand.home = transfers[i].home;
            live.unacked = transfers[i].size;
            all.push_back(live);
        }
        m_all = std::move(all);

        for (;;) {
            while (arrived < m_all.size() && m_all[arrived].start <= m_now) {
                m_live.push_back(static_cast<uint32_t>(arrived++));
            }
            schedule();

            Nanos next = Nanos::max();
            if (!m_events.empty()) {
                next = m_events.top().when;
                if (m_options.poll_every > Nanos()) {
                    const int64_t p = m_options.poll_every.count();
                    next = Nanos((next.count() + p - 1) / p * p);
                }
            }
            if (arrived < m_all.size()) {
                next = std::min(next, m_all[arrived].start);
            }
            if (next == Nanos::max()) {
                break;
            }
            m_now = std::max(m_now, next);
            while (!m_events.empty() && m_events.top().when <= m_now) {
                acknowledge(m_events.top());
                m_events.pop();
            }
        }
        for (const Live &live : m_all) {
            if (!live.unacked.is_zero()) {
                return std::nullopt;
            }
        }
        Nanos last = began;
        for (Nanos t : m_finished) {
            last = std::max(last, t);
        }
        return last - began;
    }

    std::optional<Nanos> run(Bytes size) { return run({TransferSpec{size}}); }

    void sleep(Nanos t) { m_now += t; }
    Nanos now() const { return m_now; }
    const std::vector<Posted> &posted() const { return m_posted; }
    const std::vector<Nanos> &finished() const { return m_finished; }
    const RateMeter &meter(uint32_t i) const { return m_rails[i].meter; }
    const std::string &violation() const { return m_violation; }

    Bytes carried(uint32_t path) const
    {
        Bytes sum;
        for (const Posted &p : m_posted) {
            sum += (p.path == path) ? p.length : Bytes();
        }
        return sum;
    }

private:
    struct Rail {
        explicit Rail(const RailSpec &s)
            : spec(s), meter(s.prior.value_or(s.rate),
                             s.told_overhead.value_or(s.overhead))
        {
        }
        RailSpec spec;
        RateMeter meter;
        Nanos busy_until{};
        Nanos last_ack{};
        uint32_t queued = 0;
    };

    struct Live {
        uint32_t id = 0;
        Nanos start{};
        Demand demand{};
        Bytes unacked{};
    };

    struct Event {
        Nanos when;
        uint64_t order;
        uint32_t path;
        uint32_t transfer;
        Bytes length;
        bool operator>(const Event &o) const
        {
            return (when != o.when) ? when > o.when : order > o.order;
        }
    };

    Rate rate_at(const RailSpec &spec, Nanos t) const
    {
        Rate r = spec.rate;
        for (const auto &[when, rate] : spec.changes) {
            if (when <= t) {
                r = rate;
            }
        }
        return r;
    }

    Nanos served_at(const RailSpec &spec, Nanos start, Bytes length) const
    {
        double left = static_cast<double>(length.count());
        Nanos t = start;
        for (;;) {
            Nanos until = Nanos::max();
            for (const auto &change : spec.changes) {
                if (change.first > t) {
                    until = std::min(until, change.first);
                }
            }
            const double rate = rate_at(spec, t).bytes_per_second();
            const Nanos end = t + Nanos::seconds(left / rate);
            if (end <= until) {
                return end;
            }
            left -= rate * (until - t).as_seconds();
            t = until;
        }
    }

    double uniform(double low, double high)
    {
        return std::uniform_real_distribution<double>(low, high)(m_rng);
    }

    std::vector<PathView> views() const
    {
        std::vector<PathView> views;
        for (const Rail &rail : m_rails) {
            PathView v = view_of(rail.meter, m_now, m_options.limits);
            if (m_options.oracle) {
                v.rate = rate_at(rail.spec, m_now);
                v.window = window_for(v.rate, m_options.limits, v.overhead);
                v.probe = false;
            } else if (m_options.weights) {
                v.rate = rail.spec.prior.value_or(rail.spec.rate);
            }
            if (!m_options.show_drained) {
                v.drained = Bytes();
            }
            v.open = (m_options.queue_depth == 0) ||
                     (rail.queued < m_options.queue_depth);
            views.push_back(v);
        }
        return views;
    }

    /* As the transport does: first come first served, stop at the first
     * transfer that is told to wait. */
    void schedule()
    {
        while (!m_live.empty()) {
            Live &live = m_all[m_live.front()];
            live.demand.backlog = Bytes();
            for (size_t i = 1; i < m_live.size(); ++i) {
                live.demand.backlog += m_all[m_live[i]].demand.remaining;
            }
            const std::vector<PathView> paths = views();
            const Choice c =
                    m_policy.next(paths, live.demand, m_options.limits);
            if (!c) {
                return;
            }
            check(paths, live.demand, c);
            if (!m_violation.empty()) {
                return;
            }
            post(live, c);
            if (live.demand.remaining.is_zero()) {
                m_live.erase(m_live.begin());
            }
        }
    }

    void check(const std::vector<PathView> &paths, const Demand &d, Choice c)
    {
        const char *what = nullptr;
        if (c.path >= paths.size()) {
            what = "path out of range";
        } else if (c.length > d.remaining) {
            what = "more than remains";
        } else if (c.length > m_options.limits.max_chunk) {
            what = "above max_chunk";
        } else if (!paths[c.path].open) {
            what = "closed path";
        } else if (!paths[c.path].in_flight.is_zero() &&
                   paths[c.path].in_flight >= paths[c.path].window)
        {
            what = "window full";
        } else if (c.length < m_options.limits.min_chunk &&
                   c.length != d.remaining) {
            what = "crumb";
        }
        if (what != nullptr) {
            m_violation = what;
        }
    }

    void post(Live &live, Choice c)
    {
        Rail &rail = m_rails[c.path];
        const Nanos start = std::max(m_now, rail.busy_until);
        Nanos end = served_at(rail.spec, start, c.length);
        if (m_options.service_noise > 0) {
            const double f = 1 + uniform(-m_options.service_noise,
                                         m_options.service_noise);
            end = start + Nanos::seconds((end - start).as_seconds() * f);
        }
        rail.busy_until = end;
        Nanos ack = end + rail.spec.overhead;
        if (m_options.ack_noise > Nanos()) {
            ack += Nanos::seconds(uniform(0, m_options.ack_noise.as_seconds()));
        }
        ack = std::max(ack, rail.last_ack);
        rail.last_ack = ack;
        ++rail.queued;
        rail.meter.on_post(m_now, c.length);
        live.demand.remaining -= c.length;
        m_posted.push_back({m_now, live.id, c.path, c.length});
        m_events.push({ack, m_order++, c.path, live.id, c.length});
    }

    void acknowledge(const Event &event)
    {
        Rail &rail = m_rails[event.path];
        rail.meter.on_complete(m_now, event.length);
        --rail.queued;
        Live &live = m_all[event.transfer];
        live.unacked -= event.length;
        if (live.unacked.is_zero()) {
            m_finished[event.transfer] = m_now;
        }
    }

    const Policy &m_policy;
    ModelOptions m_options;
    std::mt19937_64 m_rng;
    std::vector<Rail> m_rails;
    std::vector<Live> m_all;
    std::vector<uint32_t> m_live;
    std::vector<Nanos> m_finished;
    std::vector<Posted> m_posted;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> m_events;
    std::string m_violation;
    uint64_t m_order = 0;
    Nanos m_now{};
};

} // namespace fuselink::sched::test

#endif
