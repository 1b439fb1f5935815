/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_SCHED_BULK_TRIALS_H
#define FUSELINK_SCHED_BULK_TRIALS_H

#include "spread_trial.h"
#include "units.h"

#include <cstddef>

namespace fuselink::sched {

/**
 * What is decided of bulk data to one peer by trying it:
 *
 * - How many bytes the kernel may take for a stream: few, or as many as it likes. What
 *   waits in a kernel has left the processor's cache when it is sent, and again when the
 *   other end reads it: where processors are the limit, few bytes go through several times
 *   as fast. Where a round trip is long for what the wire carries, few are not enough to
 *   fill it. Few is where it begins, and many are tried.
 * - How short a chunk may be. Where wires are the limit, a transfer is done earliest if each
 *   NIC has a part of it; where processors are, each part costs, and the parts bring
 *   nothing. Short ones are where it begins, and long ones are tried, of which a transfer
 *   that is no longer than one goes whole.
 *
 * The rules are those of SpreadTrial; the clock goes only while something is under way. Of
 * the two one is tried at a time, or each would be taken for the gain of the other.
 *
 * Reads no clock, allocates nothing.
 */
class BulkTrials {
public:
    /** What few bytes is, of one stream. */
    static constexpr Bytes kFew = Bytes::kib(128);
    /** Of a stream that is fast enough for that to matter, and of one that is not any
     *  more. */
    static constexpr Rate kFast = Rate(64e6), kSlow = Rate(16e6);
    /** The shortest of long chunks. */
    static constexpr Bytes kLong = Bytes::mib(1);
    /** Long chunks are not tried where a path is slower: there is no processor that is, and
     *  a chunk would take it for longer than a decision should. */
    static constexpr Rate kFastForLong = Rate(200e6);

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
    /** So much was given to a path, */
    void sent(Bytes bytes) noexcept { sent_ += bytes; }
    /** and is not on its way any more. */
    void arrived(Bytes bytes) noexcept { arrived_ += bytes; }

    /** Before bytes are given to a stream. True if the kernel may take many. */
    bool many(Nanos now) noexcept
    {
        return look(many_, long_, now, sent_ - arrived_ > kFew);
    }
    /** Before a chunk is cut. True if it is to be a long one. @param matters short ones
     *  would be others, on paths that are fast. */
    bool long_chunks(Nanos now, bool matters) noexcept
    {
        return look(long_, many_, now, matters);
    }

private:
    /* Bytes by the megabyte come soon. A turn is as short as the time for which a processor
     * is given to others: no gain is clear at once. */
    static constexpr SpreadTrial::Times kTimes{Nanos::millis(4), Nanos::millis(1),
                                               SpreadTrial::Times::kNoGain};

    bool look(SpreadTrial &trial, SpreadTrial &other, Nanos now, bool may) noexcept
    {
        const Nanos busy = busy_ + (open_ != 0 ? now - since_ : Nanos());
        if (other.tries()) {
            other.stop_unwatched(busy); /* what it is about may be gone */
        }
        return other.tries() ? trial.used() : trial.look(busy, sent_, arrived_, may);
    }

    SpreadTrial many_{kTimes}; /* "several": many bytes at the kernel, */
    SpreadTrial long_{kTimes}; /* or long chunks */
    size_t      open_ = 0;     /* transfers */
    Nanos       since_, busy_;
    Bytes       sent_, arrived_;
};

} // namespace fuselink::sched

#endif
