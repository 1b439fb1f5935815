/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "inflow.h"

#include <algorithm>

namespace fuselink {
namespace {

static_assert(wire::kLoads >= wire::kMaxRails);

/* Senders ask every 5 ms; one that is late is not yet forgotten. */
constexpr sched::Nanos kHolds = sched::Nanos::millis(20);

} // namespace

void Inflow::on_ask(const void *data, size_t length)
{
    wire::LoadAsk ask;
    if (!wire::parse(data, length, ask)) {
        return;
    }
    const sched::Nanos now  = host_.now();
    InflowSums        &sums = loads_.inflow();
    InflowSums::Loads  brings;
    for (size_t i = 0; i < wire::kLoads; ++i) {
        brings[i] = sched::Bytes::kib(ask.load[i]);
    }
    sums.set(share_, brings, now + kHolds);
    sums.forget(now);

    loads_.refresh(now); /* who only receives shows that he lives */
    loads_.refresh_inbound(now);
    wire::LoadGrant grant{};
    grant.header.type  = static_cast<uint8_t>(wire::ControlType::LoadGrant);
    grant.microseconds = static_cast<uint32_t>(kHolds.count() / 1000);
    uint32_t borrowers = 0; /* other processes here, by what is lent */
    uint16_t usable    = 0;
    for (const auto &rail : rails_.list()) {
        const size_t i = rail->index();
        loads_.set_inflow(*rail, sums.all(i));
        const sched::Bytes all = sums.others(i, share_) + rail->load.inbound;
        grant.load[i]          = static_cast<uint32_t>(
            std::min<uint64_t>(all.count() >> 10, UINT32_MAX));
        using Standing      = sched::PathView::Standing;
        const Standing its  = rail->load.inbound_standing;
        const auto     bit  = static_cast<uint16_t>(1u << i);
        const bool     free = !rail->standby && its != Standing::Taken;
        grant.rails         = static_cast<uint16_t>(grant.rails | (free ? bit : 0));
        usable              = static_cast<uint16_t>(usable | (rail->standby ? 0 : bit));
        if (its == Standing::Lent || its == Standing::Taken) {
            grant.lent = static_cast<uint16_t>(grant.lent | bit);
            borrowers  = std::max(borrowers, rail->load.inbound_sharers);
        }
    }
    if (grant.rails == 0) {
        grant.rails = usable; /* others use all that there is: little goes there */
    }
    grant.lent    = static_cast<uint16_t>(grant.lent & grant.rails);
    grant.senders = static_cast<uint16_t>(
        std::clamp<uint32_t>(sums.senders() + borrowers, 1, UINT16_MAX));
    conn_.send_control(&grant, sizeof(grant));
}

} // namespace fuselink
