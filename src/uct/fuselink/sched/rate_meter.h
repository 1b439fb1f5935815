/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_SCHED_RATE_METER_H
#define FUSELINK_SCHED_RATE_METER_H

#include "units.h"

#include <algorithm>

namespace fuselink::sched {

/**
 * Learns the throughput of one path from what is posted and completed on it.
 *
 * "Completed" should be the moment the far end has the bytes. A completion
 * that only means "copied into a socket buffer" measures memory, not the wire.
 *
 * Not thread-safe: the owner of the path calls it. It reads no clock; all
 * instants come from one monotonic clock of the caller and do not go back.
 */
class RateMeter {
public:
    /**
     * @param prior    Rate to assume until something is measured, usually what
     *                 the NIC reports. May be wrong by orders of magnitude; 0
     *                 means nothing is known and 1 Gbit/s is assumed.
     * @param overhead Fixed time of a chunk, see PathView::overhead; it is
     *                 taken out of what is measured. 0 if unknown.
     */
    explicit RateMeter(Rate prior, Nanos overhead = Nanos()) noexcept;

    /** @a bytes, one chunk, were given to the path. */
    void on_post(Nanos now, Bytes bytes) noexcept;

    /** There is more to send, and no room in the window. Cheap when it was said
     *  before. */
    void on_full() noexcept
    {
        if (m_full.mark == 0) {
            m_full = {.mark = m_completed + m_in_flight.count(),
                      .bytes = m_in_flight};
        }
    }

    /** @a bytes of what was posted have arrived. */
    void on_complete(Nanos now, Bytes bytes) noexcept;

    /** @a bytes of what was posted will not arrive (failed or cancelled);
     *  they leave the flight and say nothing about the rate. */
    void on_abandon(Nanos now, Bytes bytes) noexcept;

    /** The estimate: measured once known(), the prior before. Never 0. */
    Rate rate() const noexcept { return m_rate; }

    /** The estimate at @a now, for decisions: rate(), lowered when the path
     *  has been silent for much longer than its chunks should take, or when
     *  the latest sample was far slower than the average. */
    Rate rate(Nanos now) const noexcept
    {
        return (now < m_calm_until) ? m_rate : troubled_rate(now);
    }

    /**
     * A window that is wide enough for this path, which ran dry with less.
     *
     * Acknowledgements are a program's, and so is what follows them. Where one of the
     * two has no processor for longer than a window lasts, all that is in flight is
     * acknowledged at one moment, and the wire has rested before. That would look like
     * a slow path, which gets a small window, and rests even longer. So a window is
     * made twice as wide each time that all of it was acknowledged at once, up to
     * eight times, and is narrowed again after half a second without.
     */
    Bytes widened(Bytes window) const noexcept
    {
        return window * (uint64_t{1} << m_width);
    }

    /** Something was measured. */
    bool known() const noexcept { return m_known; }

    /** Nothing was measured yet or for a long time, or the latest sample put
     *  the estimate in doubt, or it rests on a few samples (PathView::probe). */
    bool wants_probe(Nanos now) const noexcept
    {
        return (now < m_calm_until) ? now > m_fresh_until :
                                      troubled_probe(now);
    }

    /** Posted and neither completed nor abandoned. */
    Bytes in_flight() const noexcept { return m_in_flight; }

    /** The part of in_flight() that should have been carried by @a now
     *  although it is not acknowledged (PathView::drained). At most about one
     *  chunk, so that a path that stalls is not taken to make progress. */
    Bytes drained(Nanos now) const noexcept
    {
        return std::min(m_most_drained, m_rate * (now - m_served));
    }

    /** As given to the constructor, not negative. */
    Nanos overhead() const noexcept { return m_overhead; }

private:
    /* When the window was full last: which byte is the last of it. */
    struct Full {
        uint64_t mark = 0; /* 0: it was not */
        Bytes bytes;
        unsigned chunks = 0; /* of it that have come */
        Nanos first;         /* when the first of them did */
    };

    void note_dry(Nanos now) noexcept;
    bool sample_is_credible() const noexcept;
    Rate latest() const noexcept;
    bool in_doubt() const noexcept;
    void fold(Nanos now) noexcept;
    void settle() noexcept;
    Rate troubled_rate(Nanos now) const noexcept;
    bool troubled_probe(Nanos now) const noexcept;

    /* What follows from the rest, because many decisions look at a path for
     * each thing that happens on it. Until calm_until the estimate stands as it
     * is: it was measured, nothing puts it in doubt, no chunk is late. */
    Nanos m_calm_until;
    Nanos m_fresh_until;  /* then it is out of date; while calm */
    Bytes m_most_drained;

    Rate m_rate;
    Rate m_latest; /* the latest sample, as it was */
    Nanos m_overhead;
    Nanos m_lag;    /* overhead as used in this busy period */
    Nanos m_served; /* the path has been serving its head since then */
    Nanos m_last_fold;
    Nanos m_evidence;     /* busy time the estimate rests on, capped */
    Nanos m_sample_span;  /* the sample being collected: its busy time, */
    Nanos m_sample_time;  /* the same without overhead, */
    Bytes m_sample_bytes; /* and what was completed in it */
    int64_t m_sample_count = 0;
    Bytes m_in_flight;
    Bytes m_largest;     /* no chunk in flight is larger */
    uint64_t m_completed = 0; /* bytes, of all time */
    Full m_full;
    Nanos m_width_since; /* it is as wide */
    unsigned m_width = 0;
    unsigned m_samples = 0; /* of all time, few at most */
    unsigned m_doubts = 0;  /* samples in a row that put it in doubt, 2 at most */
    bool m_ramp = false; /* nothing completed in this busy period yet */
    bool m_known = false;
};

} // namespace fuselink::sched

#endif
