/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "errand.h"

#include <algorithm>

namespace fuselink {
namespace {

bool is_gone(RelayHall &hall, const RelayHall::Place &place)
{
    return hall.processes().life(ProcessId(place.process)) ==
           ProcessId::Life::Gone;
}

} // namespace

RelayErrand::Course RelayErrand::look(RelayHall &hall, uint32_t mine,
                                      sched::Nanos now)
{
    switch (hall.look(place_, mine)) {
    case RelayHall::State::Posted:
        if (now - posted_ > kLate && hall.revoke(place_, mine)) {
            return Course::Failed;
        }
        [[fallthrough]];
    case RelayHall::State::Running:
        if (now - looked_ >= kLook) {
            looked_ = now;
            if (is_gone(hall, place_)) {
                return Course::Failed;
            }
        }
        return now - posted_ > kStuck ? Course::Stuck : Course::Wait;
    case RelayHall::State::Done:
        return Course::Done;
    default:
        return Course::Failed;
    }
}

bool LeftBehind::with(uint32_t seat) const
{
    return std::any_of(all_.begin(), all_.end(), [&](const One &one) {
        return one.place.seat == seat;
    });
}

/* A slot that is no longer ours is one of an agent that has ended all its copies,
 * or of one that is no more. */
bool LeftBehind::is_over(RelayHall &hall, const RelayHall::Place &place,
                         uint32_t mine)
{
    switch (hall.look(place, mine)) {
    case RelayHall::State::Posted:
    case RelayHall::State::Running:
        return is_gone(hall, place);
    default:
        hall.give(place, mine);
        return true;
    }
}

} // namespace fuselink
