/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_WATCH_TRAFFIC_H
#define FUSELINK_WATCH_TRAFFIC_H

#include <atomic>
#include <cstdint>

namespace fuselink {

/** A number that one thread adds to, and others may look at: two plain
 *  instructions. */
class Count {
public:
    void add(uint64_t more)
    {
        set(value() + more);
    }
    void set(uint64_t value)
    {
        value_.store(value, std::memory_order_relaxed);
    }
    uint64_t value() const { return value_.load(std::memory_order_relaxed); }

private:
    std::atomic<uint64_t> value_{0};
};

/** What moved in one direction. */
struct Moved {
    Count bytes;
    Count chunks;

    void add(uint64_t length)
    {
        bytes.add(length);
        chunks.add(1);
    }
};

/** Bulk data that this process moved over a rail or a lane of the node, counted when it is over. What
 *  a peer writes here of its own accord is counted there only. */
struct Traffic {
    Moved sent;
    Moved received; /* of what we asked for or read */
};

} // namespace fuselink

#endif
