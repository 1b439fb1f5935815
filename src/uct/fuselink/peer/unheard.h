/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_PEER_UNHEARD_H
#define FUSELINK_PEER_UNHEARD_H

#include "../rail/rail.h"
#include "../sched/unheard_clock.h"
#include "../sched/units.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace fuselink {

/**
 * Tells people that nothing comes from a peer over any rail, although something waits
 * for it there: its last NIC is silent, or its host. Bulk data is not given up for that,
 * and a lane of messages late, so that nobody else would say why a job stands still.
 *
 * One thread at a time (the worker's).
 */
class Unheard {
public:
    /** @param peer  its interface
     *  @param rails outlive this */
    Unheard(uint64_t peer, const std::vector<std::unique_ptr<Rail>> &rails)
        : peer_(peer), rails_(rails)
    {
    }
    Unheard(const Unheard &)            = delete;
    Unheard &operator=(const Unheard &) = delete;
    ~Unheard() { forget(); }

    /** It has lasted long, and was said. */
    bool is() const { return clock_.is_out(); }

    /**
     * See sched::UnheardClock.
     * @param waiting rails, a bit each, over which something is on its way that the
     *                peer's kernel has not acknowledged
     * @param heard   when the last came from the peer, or its kernel
     */
    void look(uint16_t waiting, sched::Nanos heard, sched::Nanos now);
    /** What is over is not said: the peer has failed, or nobody wants it any more. */
    void forget();

private:
    void begin(uint16_t waiting, sched::Nanos now);
    void end(sched::Nanos now);

    const uint64_t                            peer_;
    const std::vector<std::unique_ptr<Rail>> &rails_;
    sched::UnheardClock clock_;
    sched::Nanos        since_, last_; /* it waits; it was looked at */
    uint16_t            out_    = 0; /* the rails of which it is said */
    bool                warned_ = false;
};

} // namespace fuselink

#endif
