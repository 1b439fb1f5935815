/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "trace.h"

#include <algorithm>

namespace fuselink {

Trace::Trace(size_t bytes)
    : capacity_(std::max<size_t>(bytes / sizeof(Event), 1)),
      events_(std::make_unique<Event[]>(capacity_))
{
}

uint64_t Trace::begin(const Event &event)
{
    events_[seen_ % capacity_] = event;
    return ++seen_;
}

void Trace::end(uint64_t number, int64_t now, bool ok)
{
    if (seen_ - number < capacity_) {
        Event &event = events_[(number - 1) % capacity_];
        event.end    = now;
        event.failed = !ok;
    }
}

size_t Trace::size() const
{
    return static_cast<size_t>(std::min<uint64_t>(seen_, capacity_));
}

const Trace::Event &Trace::at(size_t index) const
{
    return events_[(seen_ - size() + index) % capacity_];
}

void Trace::describe(const sched::PathView &view, Event &event)
{
    event.in_flight = view.in_flight.count();
    event.ahead     = view.ahead.count();
    event.rate      = view.rate.bytes_per_second();
    event.standing  = view.standing;
    event.probe     = view.probe;
}

} // namespace fuselink
