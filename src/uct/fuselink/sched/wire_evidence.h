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
     *  silent, and is not any more; since when that was found, was_silent_since() says. */
    bool heard(Nanos at) noexcept
    {
        heard_at_ = std::max(heard_at_, at);
        if (silent_since_ == Nanos() || at <= silent_since_) {
            return false;
        }
        silent_since_ = Nanos();
        return true;
    }
    Nanos was_silent_since() const noexcept { return found_at_; }
    /** A connection has proved that it carries nothing. True if that is new. */
    bool proved_silent(Nanos now) noexcept
    {
        const bool is_new = silent_since_ == Nanos();
        silent_since_     = now;
        found_at_         = is_new ? now : found_at_;
        return is_new;
    }
    /** So many packets left then, after time-outs. `heard` was somebody last. */
    void retried(unsigned packets, Nanos at, Nanos heard) noexcept
    {
        retries_ = retries(heard);
        if (at > heard) {
            retried_from_ = retries_ == 0 ? at : retried_from_;
            retries_     += packets;
        }
    }
    /** So many at least of this process's did since anybody has heard anything: with the
     *  first of them those that follow are forgotten, too. */
    unsigned retries(Nanos heard) const noexcept
    {
        return heard >= retried_from_ ? 0 : retries_;
    }
    /** Nobody has heard anything for a while. */
    void note_gap(Nanos now) noexcept { gap_at_ = now; }
    /** So many packets were acknowledged since `since`, and so many were lost: what was sent
     *  after them has arrived. What was lost as the wire carried nothing at all is not counted. */
    void passed(uint64_t packets, uint64_t lost, Nanos since, Nanos now) noexcept
    {
        lost              = since >= gap_at_ ? lost : 0;
        const double left = left_of_recent(now);
        recent_           = recent_ * left + static_cast<double>(packets);
        recent_lost_      = recent_lost_ * left + static_cast<double>(lost);
        recent_at_        = now;
        if (lost != 0) {
            losses_  = std::min(losses_at(now) + lost, kMostLosses);
            lost_at_ = now;
        }
    }
    /** It drops packets all the time, as behind a short queue: a few that are lost
     *  together say nothing, unless little has passed. */
    bool drops(Nanos now) const noexcept
    {
        return losses_at(now) >= kManyLosses ||
               (recent_lost_ * left_of_recent(now) >= kSomeLosses &&
                recent_lost_ >= recent_ * kOften);
    }
    /** Some were lost, not long ago. */
    bool loses(Nanos now) const noexcept
    {
        return losses_ != 0 && now - lost_at_ < kLately;
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

    bool  silent() const noexcept { return silent_since_ != Nanos(); }
    Nanos heard_at() const noexcept { return heard_at_; }

private:
    static constexpr Nanos    kLately     = Nanos::seconds(2);
    static constexpr uint64_t kManyLosses = 8, kMostLosses = 24;
    /* In about a second, and of what passes. */
    static constexpr double   kSomeLosses = 2, kOften = 0.1;

    /* After so long each. */
    static constexpr Nanos kForgotten = Nanos::millis(125);
    uint64_t losses_at(Nanos now) const noexcept
    {
        const auto gone = static_cast<uint64_t>(
            std::max(now - lost_at_, Nanos()).count() / kForgotten.count());
        return losses_ - std::min(losses_, gone);
    }

    /* Half of what was counted is forgotten in a second. */
    double left_of_recent(Nanos now) const noexcept
    {
        const double seconds = std::max(now - recent_at_, Nanos()).as_seconds();
        return 1 / (1 + seconds);
    }

    Nanos heard_at_;     /* 0: never */
    Nanos silent_since_; /* 0: it is not known to be */
    Nanos found_at_;     /* that it is, the last time */
    Nanos tried_at_;     /* the last try that was allowed */
    Nanos lost_at_;
    Nanos gap_at_;       /* the last moment of a long silence, of which losses say nothing */
    Nanos    retried_from_; /* the first of those */
    unsigned retries_ = 0;
    uint64_t losses_ = 0; /* by then */
    double   recent_ = 0, recent_lost_ = 0; /* packets */
    Nanos    recent_at_;
};

} // namespace fuselink::sched

#endif
