/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_ENGINE_ENDED_CONNECTIONS_H
#define FUSELINK_ENGINE_ENDED_CONNECTIONS_H

#include "../wire/address.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>

namespace fuselink {

/**
 * Connections that are over here, and whose peers may not know it: the word that told
 * them went over a wire that had just fallen silent, say. A peer that asks of one is
 * answered that it is over, for which its address is kept.
 *
 * The oldest are forgotten when there are too many. One thread at a time (the worker's).
 */
class EndedConnections {
public:
    static constexpr size_t kMax = 1024;

    struct Ended {
        uint32_t        theirs; /* sessions: the peer's, */
        uint32_t        ours;   /* and this process's */
        wire::RailTable table;  /* of the peer */
    };

    void add(uint32_t theirs, uint32_t ours, const wire::RailTable &table)
    {
        forget(table.uuid, theirs);
        if (ended_.size() == kMax) {
            ended_.pop_front();
        }
        ended_.push_back({theirs, ours, table});
    }

    /** The one that the peer calls so; null if there is none. */
    const Ended *find(uint64_t uuid, uint32_t theirs) const
    {
        auto it = std::find_if(ended_.begin(), ended_.end(), Is{uuid, theirs});
        return it != ended_.end() ? &*it : nullptr;
    }

    /** The peer knows. */
    void forget(uint64_t uuid, uint32_t theirs)
    {
        std::erase_if(ended_, Is{uuid, theirs});
    }

    size_t size() const { return ended_.size(); }

private:
    struct Is {
        uint64_t uuid;
        uint32_t theirs;
        bool     operator()(const Ended &one) const
        {
            return one.table.uuid == uuid && one.theirs == theirs;
        }
    };

    std::deque<Ended> ended_;
};

} // namespace fuselink

#endif
