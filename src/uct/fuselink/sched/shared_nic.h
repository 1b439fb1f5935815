/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_SCHED_SHARED_NIC_H
#define FUSELINK_SCHED_SHARED_NIC_H

#include "chunk.h"
#include "policy.h"
#include "rate_meter.h"
#include "units.h"

namespace fuselink::sched {

/**
 * A NIC that several paths or several processes of a node use at a time.
 *
 * What lies behind a NIC (a queue, a switch) holds some milliseconds of its
 * traffic. What it has no room for is lost, and a connection that loses its
 * last packet is silent for 100 to 200 ms. So there is one window for all, and
 * each has its part. Where the part is less than a chunk, parts do not bound the
 * sum, because an idle path takes a chunk whatever its window is: when the
 * NIC is full() it should wait, but not longer than for its turn().
 *
 * Of the rate too there is one for all. What a path gets of a shared NIC is by
 * chance more here and less there; with bytes of others counted as ahead, the
 * path is as fast as the NIC.
 */
struct SharedNic {
    Rate     rate;      /**< of all who use it together */
    Bytes    window;    /**< what they may have in flight together */
    Bytes    part;      /**< of it, of each process */
    Bytes    in_flight; /**< of this process, on all its paths */
    Bytes    ahead;     /**< of other processes */
    uint32_t processes; /**< not 0; this one included */
    bool     known;     /**< the rate was measured */

    /**
     * @param own    Has met the bytes of this process on the NIC.
     * @param total  Has met those of all processes, as far as they are seen;
     *               not known() if they are not.
     */
    static SharedNic of(const RateMeter &own, const RateMeter &total,
                        Nanos now, const Limits &limits, Bytes ahead,
                        uint32_t processes) noexcept;

    /** They have as much in flight as they should, and are too many to rely on
     *  their parts.
     *  @param paths  How many of this process are busy.
     *  @param all    How many there may be, of all processes. */
    bool full(uint32_t paths, uint64_t all, const Limits &limits) const noexcept
    {
        return in_flight + ahead >= window &&
               part < limits.min_chunk * paths && !bears(all, limits);
    }

    /**
     * Is a smallest chunk on each of so many paths no more than a few windows?
     * Then they may have it. Congestion control (BBR) paces a connection that
     * is held back at what it had; the NIC is slower for it, is measured, gets
     * a shorter window, and more connections are held back. It stayed at half
     * of its speed like this. Some windows, because the rate may be low by now.
     */
    bool bears(uint64_t all, const Limits &limits) const noexcept
    {
        const Bytes most = rate * limits.chunk_time * (4 * chunks_per_window);
        return known && limits.min_chunk * all <= most;
    }

    /** The time in which each process can send one chunk. */
    Nanos turn(const Limits &limits) const noexcept
    {
        return limits.min_chunk * processes / rate;
    }

    /** Puts what is known of the NIC into the view of one path on it.
     *  @param paths How many of this process are busy, this one included. */
    void show(const RateMeter &path, uint32_t paths,
              PathView &view) const noexcept;
};

} // namespace fuselink::sched

#endif
