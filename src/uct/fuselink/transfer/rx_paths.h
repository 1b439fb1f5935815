/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TRANSFER_RX_PATHS_H
#define FUSELINK_TRANSFER_RX_PATHS_H

#include <cstdint>

namespace fuselink {

/** The paths by which the peer sends to us, as far as ours to it need to know. One
 *  thread at a time (the worker's). */
class RxPaths {
public:
    /** The peer's path from its rail `from` to our rail `own` broke, and the peer
     *  waits to hear that it is drained. */
    virtual bool owes_quiet(uint8_t from, uint8_t own) const = 0;

protected:
    ~RxPaths() = default;
};

} // namespace fuselink

#endif
