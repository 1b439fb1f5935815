/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_SIM_FABRIC_PROCESS_H
#define FUSELINK_TEST_SIM_FABRIC_PROCESS_H

#include "../world/random.h"
#include "../world/timeline.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace fuselink::sim {

class World;

/** A range of memory that NICs may reach, registered by one process. */
struct Registration {
    unsigned process;
    uint64_t key; /* random; 0 once it has ended */
    uint64_t base, length;
};

/**
 * A process as the kernel and the NICs know it: whether it lives, its memory, what
 * it has registered. What runs in it is a Program.
 *
 * Its user's buffers are in one arena. Whoever begins an operation that may write
 * there opens the range, and closes it when the operation has ended: whatever is
 * written to a closed range afterwards has come too late.
 */
class Process {
public:
    Process(World &world, unsigned index, unsigned node, uint64_t seed,
            size_t arena);

    World         &world() const { return world_; }
    unsigned       index() const { return index_; }
    unsigned       node() const { return node_; }
    Random        &chance() { return chance_; }
    /** Runs, now and then. Not so one that was stopped, or is dead. */
    bool           runs() const { return alive && !stopped; }

    bool     alive   = true;
    bool     stopped = false;
    Instant  last_event = 0; /* of a kernel or NIC, for its program */
    unsigned endpoints = 0;           /* of simulated transports */
    unsigned sockets = 0, most_sockets = 1u << 16;
    unsigned registrations_to_fail = 0;

    /** Has an interface for streams on this NIC, asked for a second time. */
    bool has_stream(unsigned nic)
    {
        const bool has = (stream_nics_ >> nic & 1) != 0;
        stream_nics_  |= 1u << nic;
        return has;
    }

    /* --- memory --- */

    uint8_t *arena() { return arena_.get(); }
    size_t   arena_size() const { return arena_size_; }
    bool     in_arena(uint64_t address) const;
    uint64_t offset(uint64_t address) const;

    void open(const void *at, size_t length);
    void close(const void *at, size_t length);
    bool is_open(uint64_t address, size_t length) const;

    /** A NIC or a kernel writes: checked, and done. */
    void write(uint64_t address, const void *data, size_t length,
               const char *by);

    Registration &enter(uint64_t base, size_t length);
    void          leave(Registration &registration);
    /** The registration that the key opens, if it has [address, + length). */
    const Registration *find(uint64_t key, uint64_t address,
                             size_t length) const;
    size_t registrations() const { return by_key_.size(); }

private:
    World                   &world_;
    const unsigned           index_, node_;
    Random                   chance_;
    uint32_t                 stream_nics_ = 0;
    size_t                   arena_size_;
    std::unique_ptr<uint8_t[], void (*)(void *)> arena_; /* zeroes, not touched yet */
    std::map<uint64_t, std::map<uint64_t, unsigned>> open_; /* offset to
                                              ends, with how often */
    std::map<uint64_t, Registration>                 by_key_;
};

} // namespace fuselink::sim

#endif
