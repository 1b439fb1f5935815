/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* Peer: what it brings to our NICs, and telling it of the others. */

#include "peer.h"

#include "../engine/engine.h"

#include <algorithm>

namespace fuselink {
namespace {

static_assert(wire::kLoads >= wire::kMaxRails);

/* Senders ask every 5 ms; one that is late is not yet forgotten. */
constexpr sched::Nanos kHolds = sched::Nanos::millis(20);

} // namespace

sched::Bytes Peer::inflow(size_t rail, sched::Nanos now) const
{
    return !failed() && now < inflow_until_ ? inflow_[rail] : sched::Bytes();
}

void Peer::on_load_ask(const void *data, size_t length)
{
    wire::LoadAsk ask;
    if (!wire::parse(data, length, ask)) {
        return;
    }
    const sched::Nanos now = engine_.now();
    for (size_t i = 0; i < wire::kLoads; ++i) {
        inflow_[i] = sched::Bytes::kib(ask.load[i]);
    }
    inflow_until_ = now + kHolds;

    LoadView &loads = engine_.loads();
    loads.refresh(now); /* who only receives shows that he lives */
    loads.refresh_inbound(now);
    wire::LoadGrant grant{};
    grant.header.type  = static_cast<uint8_t>(wire::ControlType::LoadGrant);
    grant.microseconds = static_cast<uint32_t>(kHolds.count() / 1000);
    for (const auto &rail : engine_.rails()) {
        const size_t       i     = rail->index();
        const sched::Bytes other = engine_.inflow(i, now, this);
        loads.set_inflow(*rail, other + inflow_[i]);
        const sched::Bytes all = other + rail->load.inbound;
        grant.load[i]          = static_cast<uint32_t>(
            std::min<uint64_t>(all.count() >> 10, UINT32_MAX));
        if (!rail->standby) {
            grant.rails = static_cast<uint16_t>(grant.rails | 1u << i);
        }
    }
    send_control(&grant, sizeof(grant));
}

void Peer::on_load_grant(const void *data, size_t length)
{
    wire::LoadGrant grant;
    if (wire::parse(data, length, grant)) {
        bulk_.on_grant(grant);
    }
}

} // namespace fuselink
