/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_SCHED_MESSAGE_SPREAD_H
#define FUSELINK_SCHED_MESSAGE_SPREAD_H

#include "policy.h"
#include "units.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace fuselink::sched {

/**
 * Over which of several wires to one host its next message goes, where one wire is not
 * enough (SpreadTrial): the one that is free first, by what was sent there and its speed; of
 * those that are free, the one that has been for longest.
 *
 * Each wire has a clock that says when it will have sent what it was given (virtual clock,
 * Zhang, SIGCOMM 1990). Its speed is what the other kernel acknowledges while the one here
 * has more to send; a wire of which that was not seen lately is taken for as fast as the
 * lane's. What the kernel has left puts the clock right.
 *
 * Number 0 is the lane's wire, others are below kMost. Reads no clock, allocates nothing.
 */
class MessageSpread {
public:
    static constexpr size_t kMost = max_paths + 1;

    /** It is another connection from now on. */
    void reset(size_t wire) noexcept { wires_[wire] = {}; }
    /** What its kernel says now: bytes that were acknowledged since the beginning, and
     *  those that were not. */
    void look(size_t wire, Nanos now, Bytes acked, Bytes unacked) noexcept;

    /** It has been given so much. */
    void gave(size_t wire, Bytes length, Nanos now) noexcept
    {
        Wire &one   = wires_[wire];
        one.free_at = std::max(one.free_at, now) + time(length, wire);
    }
    /** It will have sent all, with so many bytes more of other kinds. In the past: it has. */
    Nanos free_at(size_t wire, Bytes others, Nanos now) const noexcept
    {
        return others.is_zero() ? wires_[wire].free_at :
                                  std::max(wires_[wire].free_at,
                                           now + time(others, wire));
    }

    /** Its own speed if that is known, else that of the lane's wire; 0: not known. */
    Rate rate(size_t wire) const noexcept
    {
        return wires_[wire].rate.is_zero() ? wires_[0].rate : wires_[wire].rate;
    }

private:
    struct Wire {
        Rate  rate;    /* 0: not known */
        Nanos free_at; /* has sent what it was given */
        Nanos from;    /* its speed is measured since then, */
        Bytes acked;   /* which it had acknowledged then; */
        bool  busy = false; /* it had more at each look since */
    };

    void  measure(size_t wire, Rate seen) noexcept;
    Nanos time(Bytes length, size_t wire) const noexcept
    {
        const Rate speed = rate(wire);
        return speed.is_zero() ? Nanos(1) : length / speed;
    }

    std::array<Wire, kMost> wires_{};
};

} // namespace fuselink::sched

#endif
