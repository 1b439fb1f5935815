/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_EDGE_MET_BY_SOCKET_H
#define FUSELINK_EDGE_MET_BY_SOCKET_H

#include <cstdint>
#include <unordered_map>

namespace fuselink {

/** The peers to which there are endpoints by socket address (see Cm), with the number of
 *  these. In turns of the interface. */
class MetBySocket {
public:
    bool has(uint64_t uuid) const { return counts_.contains(uuid); }
    void add(uint64_t uuid) { ++counts_[uuid]; }
    void remove(uint64_t uuid)
    {
        const auto at = counts_.find(uuid);
        if (--at->second == 0) {
            counts_.erase(at);
        }
    }

private:
    std::unordered_map<uint64_t, unsigned> counts_;
};

} // namespace fuselink

#endif
