/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_PEER_UNHEARD_H
#define FUSELINK_PEER_UNHEARD_H

#include "../rail/rail.h"
#include "../sched/units.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace fuselink {

/**
 * Tells people that nothing comes from a peer over any rail, although something waits
 * for it there: its last NIC is silent, or its host. Nothing is given up for that, so
 * that nobody else would say why a job stands still.
 *
 * One thread at a time (the worker's).
 */
class Unheard {
public:
    /** What stands still for so long is said: far more than lost packets take. */
    static constexpr sched::Nanos kPatience = sched::Nanos::seconds(5);

    /** @param peer  its interface
     *  @param rails outlive this */
    Unheard(uint64_t peer, const std::vector<std::unique_ptr<Rail>> &rails)
        : peer_(peer), rails_(rails)
    {
    }
    Unheard(const Unheard &)            = delete;
    Unheard &operator=(const Unheard &) = delete;
    /** What is over is not said: the peer has failed, or nobody wants it any more. */
    ~Unheard() { end(false); }

    /** It has lasted so long. */
    bool is() const { return waiting_ != 0; }

    /**
     * @param waiting rails, a bit each, over which something is on its way that the
     *                peer's kernel has not acknowledged
     * @param heard   when the last came from the peer, or the last of that was sent,
     *                whichever is later
     */
    void look(uint16_t waiting, sched::Nanos heard, sched::Nanos now);

private:
    void begin(uint16_t waiting, sched::Nanos heard);
    void end(bool heard);

    const uint64_t                            peer_;
    const std::vector<std::unique_ptr<Rail>> &rails_;
    uint16_t     waiting_ = 0;
    sched::Nanos since_, now_; /* the latter: of the last look */
};

} // namespace fuselink

#endif
