/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_SIM_WORLD_TIMELINE_H
#define FUSELINK_TEST_SIM_WORLD_TIMELINE_H

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

namespace fuselink::sim {

/** Virtual time, nanoseconds since the beginning of the run. */
using Instant = int64_t;

inline constexpr Instant kMicrosecond = 1'000;
inline constexpr Instant kMillisecond = 1'000'000;
inline constexpr Instant kSecond      = 1'000'000'000;

/**
 * The clock of a run, and what the machines do by themselves when it has come so
 * far: packets arrive, cables are pulled. Programs do not run in here; nothing
 * that an event does calls UCT.
 */
class Timeline {
public:
    using Event = std::function<void()>;

    Instant now() const { return now_; }

    /** Has `event` happen then, or now if that is past. Of those for one
     *  instant the first that was asked for comes first. */
    void at(Instant when, Event event)
    {
        events_.push_back({std::max(when, now_), order_++, std::move(event)});
        std::push_heap(events_.begin(), events_.end(), later);
    }
    void after(Instant delay, Event event)
    {
        at(now_ + delay, std::move(event));
    }

    /** Time goes on by so much, and what is due happens, each at its own time. */
    void pass(Instant duration)
    {
        const Instant until = now_ + duration;
        while (!events_.empty() && events_.front().when <= until) {
            std::pop_heap(events_.begin(), events_.end(), later);
            Entry entry = std::move(events_.back());
            events_.pop_back();
            now_ = entry.when;
            entry.event();
        }
        now_ = until;
    }

    bool    empty() const { return events_.empty(); }
    /** When the next event is; only if there is one. */
    Instant next() const { return events_.front().when; }

private:
    struct Entry {
        Instant  when;
        uint64_t order;
        Event    event;
    };
    static bool later(const Entry &a, const Entry &b)
    {
        return a.when != b.when ? a.when > b.when : a.order > b.order;
    }

    Instant            now_   = 0;
    uint64_t           order_ = 0;
    std::vector<Entry> events_; /* a heap */
};

} // namespace fuselink::sim

#endif
