/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_ENGINE_TOKEN_TABLE_H
#define FUSELINK_ENGINE_TOKEN_TABLE_H

#include "../wire/messages.h"

#include <cstddef>
#include <deque>
#include <vector>

namespace fuselink {

class Peer;

/**
 * What peers call their connections to this interface in front of each message:
 * small numbers, since a message of 8 bytes has no room for more. One that is given
 * back is given out again as late as can be, because messages of the connection that
 * had it may still be on their way.
 *
 * One thread at a time (the worker's).
 */
class TokenTable {
public:
    /** kNoToken if there are none left. */
    wire::Token reserve()
    {
        constexpr size_t kMost = wire::Token(-1);
        if (free_.size() > kRest ||
            (peers_.size() > kMost && !free_.empty())) {
            const wire::Token token = free_.front();
            free_.pop_front();
            return token;
        }
        if (peers_.size() > kMost) {
            return wire::kNoToken;
        }
        peers_.push_back(nullptr);
        return static_cast<wire::Token>(peers_.size() - 1);
    }
    void set(wire::Token token, Peer &peer)
    {
        if (token != wire::kNoToken) {
            peers_[token] = &peer;
        }
    }
    void release(wire::Token token)
    {
        if (token != wire::kNoToken) {
            peers_[token] = nullptr;
            free_.push_back(token);
        }
    }

    /** `token` is untrusted. Null if nobody has it. */
    Peer *find(wire::Token token) const
    {
        return token < peers_.size() ? peers_[token] : nullptr;
    }

private:
    /* Given back before the first of them is used again: a host that dies has as
     * many connections end at once as it has ranks. */
    static constexpr size_t kRest = 1 << 15;

    std::vector<Peer *>     peers_{nullptr}; /* kNoToken's */
    std::deque<wire::Token> free_;
};

} // namespace fuselink

#endif
