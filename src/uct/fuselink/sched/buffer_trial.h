/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_SCHED_BUFFER_TRIAL_H
#define FUSELINK_SCHED_BUFFER_TRIAL_H

#include "spread_trial.h"
#include "units.h"

#include <cstddef>

namespace fuselink::sched {

/**
 * Decides how many bytes the kernel may take for a stream: few, or as many as it likes. What
 * waits in a kernel has left the processor's cache when it is sent, and again when the other
 * end reads it: where processors are the limit, few bytes go through several times as
 * fast. Where a round trip is long for what the wire carries, few are not enough to fill it.
 *
 * Few is where it begins, and many are tried. The rules are those of SpreadTrial; its clock
 * goes only while something is under way.
 *
 * Reads no clock, allocates nothing.
 */
class BufferTrial {
public:
    /** What few is, of one stream. */
    static constexpr Bytes kFew = Bytes::kib(128);
    /** Of a stream that is fast enough for that to matter, and of one that is not any
     *  more. */
    static constexpr Rate kFast = Rate(64e6), kSlow = Rate(16e6);

    /** A transfer begins; */
    void begin(Nanos now) noexcept
    {
        if (open_++ == 0) {
            since_ = now;
        }
    }
    /** and ends. */
    void end(Nanos now) noexcept
    {
        if (--open_ == 0) {
            busy_ += now - since_;
        }
    }
    /** So much was given to a stream, */
    void sent(Bytes bytes) noexcept { sent_ += bytes; }
    /** and is not on its way any more. */
    void arrived(Bytes bytes) noexcept { arrived_ += bytes; }

    /** Before bytes are given to a stream. True if the kernel may take many. */
    bool look(Nanos now) noexcept
    {
        return trial_.look(busy_ + (open_ != 0 ? now - since_ : Nanos()), sent_,
                           arrived_, sent_ - arrived_ > kFew);
    }

private:
    /* Bytes by the megabyte come soon. A turn is as short as the time for which a processor
     * is given to others: no gain is clear at once. */
    static constexpr SpreadTrial::Times kTimes{Nanos::millis(4), Nanos::millis(1),
                                               SpreadTrial::Times::kNoGain};

    SpreadTrial trial_{kTimes}; /* "several": many bytes */
    size_t      open_ = 0;      /* transfers */
    Nanos       since_, busy_;
    Bytes       sent_, arrived_;
};

} // namespace fuselink::sched

#endif
