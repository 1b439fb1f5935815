/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "errand.h"

#include <algorithm>

namespace fuselink {
namespace {

bool is_gone(RelayRegistry &registry, const RelayRegistry::SlotHandle &slot)
{
    return registry.processes().life(ProcessId(slot.process)) ==
           ProcessId::Life::Gone;
}

} // namespace

RelayErrand::Course RelayErrand::look(RelayRegistry &registry, uint32_t mine,
                                      sched::Nanos now)
{
    switch (registry.look(slot_, mine)) {
    case RelayRegistry::State::Posted:
        if (now - posted_ > kLate && registry.revoke(slot_, mine)) {
            return Course::Failed;
        }
        [[fallthrough]];
    case RelayRegistry::State::Running:
        if (now - looked_ >= kLook) {
            looked_ = now;
            if (is_gone(registry, slot_)) {
                return Course::Failed;
            }
        }
        return now - posted_ > kStuck ? Course::Stuck : Course::Wait;
    case RelayRegistry::State::Done:
        return Course::Done;
    default:
        return Course::Failed;
    }
}

bool LeftBehind::with(uint32_t entry) const
{
    return std::any_of(all_.begin(), all_.end(), [&](const One &one) {
        return one.slot.entry == entry;
    });
}

/* A slot that is no longer ours is one of an agent that has ended all its copies,
 * or of one that is no more. */
bool LeftBehind::is_over(RelayRegistry                   &registry,
                         const RelayRegistry::SlotHandle &slot,
                         uint32_t mine)
{
    switch (registry.look(slot, mine)) {
    case RelayRegistry::State::Posted:
    case RelayRegistry::State::Running:
        return is_gone(registry, slot);
    default:
        registry.give(slot, mine);
        return true;
    }
}

} // namespace fuselink
