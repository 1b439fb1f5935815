/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TRANSFER_KEY_SOURCE_H
#define FUSELINK_TRANSFER_KEY_SOURCE_H

#include "../memory/remote_key.h"

#include <cstdint>
#include <memory>

namespace fuselink {

/** Asks the peer for keys of its NICs. One thread at a time (the worker's). */
class KeySource {
public:
    /** For a region of the peer's memory, those that are still unknown.
     *  BulkSender::pump() is called when they are there. Returns the question's
     *  name, 0 if there was nothing to ask. May fail the connection, and end
     *  transfers then. */
    virtual uint32_t request_keys(const RegionKey &region,
                                  const std::shared_ptr<NicKeys> &keys) = 0;
    /** The answer is of no use any more. */
    virtual void drop_key_request(uint32_t token) = 0;

protected:
    ~KeySource() = default;
};

} // namespace fuselink

#endif
