/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_SCHED_WIRE_EVIDENCE_H
#define FUSELINK_SCHED_WIRE_EVIDENCE_H

#include "stall_clock.h"
#include "units.h"

#include <algorithm>

namespace fuselink::sched {

/**
 * What one process knows of one wire: of all that lies between a NIC of its host and
 * one of another. Its connections over it share this. One that finds out that the wire
 * carries nothing, or something again, does so for all of them.
 *
 * Instants of one clock, that do not go back. Reads no clock, allocates nothing.
 */
class WireEvidence {
public:
    /** Something of the other end had come by then. True if the wire was held to be
     *  silent, and is not any more. */
    bool heard(Nanos at) noexcept
    {
        heard_at_ = std::max(heard_at_, at);
        if (silent_since_ == Nanos() || at <= silent_since_) {
            return false;
        }
        silent_since_ = Nanos();
        return true;
    }
    /** A connection has proved that it carries nothing. True if that is new. */
    bool proved_silent(Nanos now) noexcept
    {
        const bool is_new = silent_since_ == Nanos();
        silent_since_     = now;
        return is_new;
    }
    /** The other end says so. That is believed, unless something came lately. */
    bool may_be_silent(Nanos now) const noexcept
    {
        return now - heard_at_ >= kQuiet;
    }

    /** Of those who would try whether a silent wire carries again one may, now and then:
     *  until the next may, nobody waits for an answer (kTry). */
    bool may_try(Nanos now) noexcept
    {
        if (silent() && now - tried_at_ < kTry) {
            return false;
        }
        tried_at_ = now;
        return true;
    }
    static constexpr Nanos kTry = Nanos::millis(400);
    /* Who has heard something so lately believes nobody else. */
    static constexpr Nanos kQuiet = Nanos::millis(15);

    bool  silent() const noexcept { return silent_since_ != Nanos(); }
    Nanos heard_at() const noexcept { return heard_at_; }

private:
    Nanos heard_at_;     /* 0: never */
    Nanos silent_since_; /* 0: it is not known to be */
    Nanos tried_at_;     /* the last try that was allowed */
};

} // namespace fuselink::sched

#endif
