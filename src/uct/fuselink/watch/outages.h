/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_WATCH_OUTAGES_H
#define FUSELINK_WATCH_OUTAGES_H

#include "traffic.h"

#include <algorithm>
#include <cstdint>

namespace fuselink {

/** What has failed on one rail, in all. One thread counts, others may look. */
struct Outages {
    Count breaks;  /* of paths that worked, which the peer has confirmed */
    Count moves;   /* of peers' messages to another rail */
    /* Bytes that went over a rail again, because this one failed. */
    Count chunks_resent;
    Count messages_resent;
    Count out;     /* ns with something out; without the time from since on */
    Count since;   /* CLOCK_MONOTONIC ns: something is out; 0: nothing */
    Count longest; /* ns from a break until the peer had answered on it */

    uint64_t resent() const
    {
        return chunks_resent.value() + messages_resent.value();
    }
    /** With what goes on, ns. */
    uint64_t out_until(int64_t now) const
    {
        const auto began = static_cast<int64_t>(since.value());
        return out.value() +
               (began != 0 ? static_cast<uint64_t>(
                                 std::max<int64_t>(now - began, 0)) : 0);
    }
};

} // namespace fuselink

#endif
