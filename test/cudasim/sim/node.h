/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_CUDASIM_NODE_H
#define FUSELINK_CUDASIM_NODE_H

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/topology.h"
#include "ucs_ext/shared_segment.h"

namespace cudasim {

/**
 * What the processes of a host share: when each link is free, and how much of
 * each GPU's memory is taken. It is gone with the last process.
 *
 * A link is a queue that serves in the order of the reservations: it needs no
 * more than the time when it will be free. Nobody holds a lock, so a killed
 * process leaves at most what it had reserved, some milliseconds, and its
 * memory is free again when the next process looks.
 */
class Node {
public:
    enum class Role {
        User,   /* takes memory; one in a process */
        Watcher /* only looks */
    };

    /** @return nullptr if there is no shared memory; error says why */
    static std::unique_ptr<Node> open(const Topology &topology, Role role,
                                      std::string &error);

    /**
     * Puts bytes on all links of the route.
     *
     * @param ready when they could start; may be in the past, because a thread
     *              that woke up late must not lose the link's time
     * @return when the last byte is through
     */
    uint64_t reserve(const Route &route, uint64_t bytes, uint64_t ready);

    /** As many as the slowest link of the route carries in this time; from a
     *  kilobyte to a megabyte. */
    size_t bytes_in(const Route &route, uint64_t ns) const;

    /** Bytes that took this link since the first process came. */
    uint64_t carried(unsigned link) const;

    /** False if the GPU has not as much left. */
    bool     take_memory(unsigned gpu, uint64_t bytes);
    void     return_memory(unsigned gpu, uint64_t bytes);
    uint64_t free_memory(unsigned gpu);

private:
    struct LinkState {
        std::atomic<uint64_t> free_ns;
        std::atomic<uint64_t> bytes;
    };
    struct Seat {
        std::atomic<uint64_t> process; /* 0: free */
        std::atomic<uint64_t> taken[kMaxGpus];
    };
    static constexpr unsigned kSeats = 256;
    struct Shared {
        fuselink::SharedSegment::Header header;
        std::atomic<uint32_t>           memory_lock; /* pid of its holder */
        LinkState                       links[kMaxLinks];
        Seat                            seats[kSeats];
    };

    Node(const Topology &topology,
         std::unique_ptr<fuselink::SharedSegment> segment);
    bool     sit_down();
    void     lock_memory();
    void     unlock_memory();
    uint64_t taken(unsigned gpu);

    std::vector<uint64_t>                    rates_;  /* of links */
    std::vector<uint64_t>                    memory_; /* of GPUs */
    std::unique_ptr<fuselink::SharedSegment> segment_;
    Shared                                  *shared_;
    Seat                                    *seat_ = nullptr;
};

} // namespace cudasim

#endif
