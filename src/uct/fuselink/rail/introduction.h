/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_RAIL_INTRODUCTION_H
#define FUSELINK_RAIL_INTRODUCTION_H

#include "../sched/units.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace fuselink {

/**
 * When a rail is introduced to hosts that look for it (net::introduce()): when a link has
 * come back, and some more times, as the port of a switch may not forward at once what a NIC
 * that has a link sends. Not more often than each kPause, whoever asks for it.
 *
 * Reads no clock.
 */
class Introduction {
public:
    static constexpr sched::Nanos kPause = sched::Nanos::millis(5);
    static constexpr std::array<sched::Nanos, 4> kAfter{
        sched::Nanos(), sched::Nanos::millis(20), sched::Nanos::millis(100),
        sched::Nanos::millis(300)};

    /** A link has come back, here or at another end. */
    void begin(sched::Nanos now)
    {
        begun_ = now;
        next_  = std::max(now, last_ + kPause);
        step_  = 0;
    }
    /** It is time; then begin() was called, and this has not been true as often as it is
     *  to be. For every look: it compares two numbers. */
    bool due(sched::Nanos now)
    {
        if (step_ == kAfter.size() || now < next_) {
            return false;
        }
        last_ = now;
        if (++step_ != kAfter.size()) {
            next_ = std::max(begun_ + kAfter[step_], now + kPause);
        }
        return true;
    }

private:
    size_t       step_ = kAfter.size(); /* that comes next */
    sched::Nanos begun_, next_;
    sched::Nanos last_ = sched::Nanos(0) - kPause;
};

} // namespace fuselink

#endif
