/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "path.h"

#include "../host/host.h"
#include "../load/load_view.h"
#include "../rail/rail.h"
#include "room_queue.h"

#include <algorithm>

namespace fuselink {

Path::Path(Rail &rail_, const wire::RailRecord &remote_, const Books &books)
    : rail(rail_), remote(remote_), health(rail.health, remote),
      weight(remote_.bytes_per_second != 0 ?
                 std::min(rail_.speed(), double(remote_.bytes_per_second)) :
                 rail_.speed()),
      meter(weight), books_(books)
{
    room.hook.path = this;
    rail.nic.add_path();
}

unsigned Path::poll_index() const
{
    return by_messages ? rail.poll_hello_index() : rail.poll_bulk_index();
}

Path::~Path()
{
    if (!meter.in_flight().is_zero()) {
        ended(meter.in_flight(), false);
    }
    rail.nic.remove_path();
    health.end(books_.host.now());
}

void Path::posted(sched::Bytes length)
{
    sched::Nanos now = books_.host.now();
    rail.nic.on_post(now, length, meter.in_flight().is_zero());
    planned -= static_cast<double>(length.count());
    meter.on_post(now, length);
    ++stream.posted;
    books_.loads.posted(rail, length);
    books_.room_queue.posted(length);
}

void Path::ended(sched::Bytes length, bool arrived, Direction direction)
{
    stream.ends   += arrived; /* what had no room says nothing of the wire */
    stream.posted -= !arrived;
    sched::Nanos now = books_.host.now();
    if (arrived) {
        meter.on_complete(now, length);
    } else {
        meter.on_abandon(now, length);
    }
    rail.nic.on_end(now, length, arrived, meter.in_flight().is_zero(),
                    direction == Direction::Out);
    LoadView &loads = books_.loads;
    if (direction == Direction::Out) {
        loads.ended(rail, length, arrived);
    } else {
        loads.ended(rail, length, false); /* nothing went out */
        if (arrived) {
            loads.landed(rail, length);
        }
    }
    if (arrived) {
        (direction == Direction::Out ? rail.traffic.sent :
                                       rail.traffic.received)
            .add(length.count());
    }
    books_.room_queue.ended(length);
}

sched::Rate Path::full_rate() const
{
    const sched::SharedNic &nic = rail.nic.shared();
    if (!meter.known()) {
        return nic.known ? nic.rate : weight;
    }
    sched::PathView view{};
    view.rate = meter.rate();
    nic.show(meter, rail.nic.sharers(meter), view);
    return view.rate;
}

} // namespace fuselink
