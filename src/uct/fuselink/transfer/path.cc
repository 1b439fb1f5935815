/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "path.h"

#include "../engine/engine.h"
#include "../rail/rail.h"
#include "clock.h"

#include <algorithm>

namespace fuselink {

Path::Path(BulkSender &sender_, Rail &rail_, const wire::RailRecord &remote_)
    : sender(sender_), rail(rail_), remote(remote_), hook{},
      weight(remote_.bytes_per_second != 0 ?
                 std::min(rail_.speed(), double(remote_.bytes_per_second)) :
                 rail_.speed()),
      meter(weight)
{
    hook.path = this;
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
}

void Path::posted(sched::Bytes length)
{
    sched::Nanos now = now_ns();
    rail.busy_paths += meter.in_flight().is_zero();
    meter.on_post(now, length);
    rail.meter.on_post(now, length);
    rail.engine().loads().posted(rail, length);
}

void Path::ended(sched::Bytes length, bool arrived)
{
    sched::Nanos now = now_ns();
    if (arrived) {
        meter.on_complete(now, length);
        rail.meter.on_complete(now, length);
    } else {
        meter.on_abandon(now, length);
        rail.meter.on_abandon(now, length);
    }
    rail.busy_paths -= meter.in_flight().is_zero();
    rail.engine().loads().ended(rail, length, arrived);
}

uint32_t Path::sharers() const
{
    return rail.busy_paths + meter.in_flight().is_zero();
}

} // namespace fuselink
