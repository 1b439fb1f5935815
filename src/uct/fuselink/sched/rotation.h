/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_SCHED_ROTATION_H
#define FUSELINK_SCHED_ROTATION_H

#include <cstdint>

namespace fuselink::sched {

/** With which of several equal paths a transfer begins: each with another one,
 *  so that transfers of one chunk spread over the NICs too. */
class Rotation {
public:
    /** @param first of the first transfer; any number, best another in each
     *               process
     *  @param turns false: all begin with that one */
    Rotation(uint32_t first, bool turns) : next_(first), turns_(turns) {}

    /** The next transfer's; to be taken modulo the number of paths. */
    uint32_t next() { return turns_ ? next_++ : next_; }

private:
    uint32_t   next_;
    const bool turns_;
};

} // namespace fuselink::sched

#endif
