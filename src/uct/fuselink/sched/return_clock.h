/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_SCHED_RETURN_CLOCK_H
#define FUSELINK_SCHED_RETURN_CLOCK_H

#include "units.h"

namespace fuselink::sched {

/**
 * When a peer was heard again of which nothing had been heard for long, over any rail, though
 * something waited for it.
 *
 * The kernels at both ends try again twice as late each time. So what was under way then
 * would wait for as long again as the silence has lasted, while the wires carry: whoever
 * finds such a one that waits() has another connection made in its place. Its wire may have
 * come back later than others, just behind a try. What was not answered before the return
 * says nothing of a wire: is_of_before().
 *
 * Instants of one clock, that do not go back. Reads no clock, allocates nothing.
 */
class ReturnClock {
public:
    /** Less is made up for by the kernels themselves. Where nothing is silent a peer whose
     *  program computes is asked once a second. */
    static constexpr Nanos kLong = Nanos::millis(1500);
    /** What breaks so soon after the peer was away may be of that. */
    static constexpr Nanos kAfter = Nanos::seconds(1);
    /** Kernels that have not had three time-outs try once more within this time. */
    static constexpr Nanos kGrace = Nanos::seconds(3);
    /** No kernel waits longer (Linux: TCP_RTO_MAX). */
    static constexpr Nanos kLongest = Nanos::seconds(120);
    /** A kernel that tries so soon is waited for. */
    static constexpr Nanos kSoon = Nanos::millis(100);
    /** Time-outs in a row that take about as long as kLong. */
    static constexpr unsigned kThree = 3;

    /** To be called every few milliseconds while something may wait.
     *  @param waits a packet has left that the peer's kernel has not acknowledged
     *  @param heard when the last came from the peer; not in the future
     *  @return true if it is heard again, which is_recent() from then on */
    bool look(bool waits, Nanos heard, Nanos now) noexcept
    {
        if (now_ == Nanos() || now - now_ > kPause) {
            from_ = now;
        } else if (heard > from_ + kTick) {
            const bool was_silent = now_ - from_ > kLong;
            from_                 = heard;
            back_at_              = was_silent ? heard : back_at_;
            now_                  = now;
            return was_silent;
        } else if (!waits) {
            from_ = now;
        }
        now_ = now;
        return false;
    }

    /** Nothing has been heard for long, by the last look. */
    bool is_away() const noexcept { return now_ - from_ > kLong; }

    /** Kernels may still wait that tried in vain before it. */
    bool may_be_felt(Nanos now) const noexcept
    {
        return back_at_ != Nanos() && now - back_at_ < kLongest;
    }
    /** It was not long ago. */
    bool is_recent(Nanos now) const noexcept
    {
        return back_at_ != Nanos() && now - back_at_ < kGrace;
    }
    /** What left at `sent` may have met the silence. */
    bool is_of_before(Nanos sent) const noexcept { return sent < back_at_; }
    /** A connection of which the other kernel has acknowledged nothing since the return, by
     *  `acked`, and whose last packet left at `sent`: before that, or before its wire was
     *  heard. */
    bool is_left_behind(Nanos acked, Nanos sent, Nanos wire_heard) const noexcept
    {
        return acked < back_at_ && (is_of_before(sent) || sent < wire_heard);
    }
    /** A kernel that has had so many time-outs in a row, and tries once more at `again`, keeps
     *  what it has for longer than a new connection takes. */
    static bool waits(unsigned timeouts, Nanos again, Nanos now) noexcept
    {
        return timeouts >= kThree && again - now > kSoon;
    }

private:
    /* Nobody has looked for so long: what was heard meanwhile is not known. */
    static constexpr Nanos kPause = Nanos::seconds(1);

    /* What a kernel says happened may be so much later the next time. */
    static constexpr Nanos kTick = Nanos::millis(10);

    Nanos now_;     /* of the last look */
    Nanos from_;    /* nothing was heard since, as far as somebody looked */
    Nanos back_at_; /* 0: it has not been away */
};

} // namespace fuselink::sched

#endif
