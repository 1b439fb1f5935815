/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_RMA_KEY_EXCHANGE_H
#define FUSELINK_RMA_KEY_EXCHANGE_H

#include "../conn/connection.h"
#include "../memory/region.h"
#include "../memory/remote_key.h"
#include "../wire/address.h"

#include <memory>
#include <unordered_map>

namespace fuselink {

/**
 * Keys of NICs for memory, asked for when they are first wanted: our questions
 * to one peer, and our answers to its.
 *
 * One thread at a time (the worker's).
 */
class KeyExchange {
public:
    /** `theirs` is the peer's rails, empty until they are known. */
    KeyExchange(Connection &conn, NicMemory &nics, RegionTable &regions,
                const wire::RailTable &theirs)
        : conn_(conn), nics_(nics), regions_(regions), theirs_(theirs)
    {
    }

    /** Asks for the keys of a region of the peer's memory that are unknown yet.
     *  Returns the question's name, 0 if there was nothing to ask. May fail the
     *  connection, and end transfers then. */
    uint32_t request(const RegionKey &region,
                     const std::shared_ptr<NicKeys> &keys);
    /** The answer is of no use any more. */
    void drop(uint32_t token) { requests_.erase(token); }
    /** Nor is any. */
    void clear() { requests_.clear(); }

    /** A wire::KeyReq, untrusted. */
    void on_request(const void *data, size_t length);
    /** A wire::KeyData, untrusted. True if it answers a question of ours. */
    bool on_data(const void *data, size_t length);

private:
    Connection            &conn_;
    NicMemory             &nics_;
    RegionTable           &regions_;
    const wire::RailTable &theirs_;
    /* Questions, by token. */
    std::unordered_map<uint32_t, std::shared_ptr<NicKeys>> requests_;
    uint32_t               last_token_ = 0;
};

} // namespace fuselink

#endif
