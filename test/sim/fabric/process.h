/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_SIM_FABRIC_PROCESS_H
#define FUSELINK_TEST_SIM_FABRIC_PROCESS_H

#include "../world/random.h"
#include "../world/timeline.h"
#include "gpu.h"

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

/** What a process has had of streams that it began over one NIC. */
struct StreamUse {
    uint64_t given    = 0; /* bytes of puts */
    uint64_t executed = 0; /* of these, by the peer, of whole puts */
    uint64_t given_up = 0; /* streams that it has ended at once, or had no socket for */
};

/** Who reads and writes memory. */
enum class Hand : uint8_t { Cpu, Nic, CopyEngine };

/**
 * A process as the kernel and the NICs know it: whether it lives, its memory, what
 * it has registered. What runs in it is a Program.
 *
 * Its user's buffers are in one arena: first those in memory of the host, then those
 * in memory of its GPU, if it has one. The latter have an address there and are kept
 * in the arena. Whoever begins an operation that may write there opens the range, and
 * closes it when the operation has ended: whatever is written to a closed range
 * afterwards has come too late.
 */
class Process {
public:
    /** @param arena bytes of the host's memory
     *  @param gpu   bytes of its GPU's memory; 0: it has no GPU */
    Process(World &world, unsigned index, unsigned node, uint64_t seed,
            size_t arena, size_t gpu);

    World         &world() const { return world_; }
    unsigned       index() const { return index_; }
    unsigned       node() const { return node_; }
    Random        &chance() { return chance_; }
    /** Runs now. Not so one that was stopped, has no processor, or is dead. */
    bool           runs() const { return alive && !stopped && !waits; }

    bool     alive   = true;
    bool     stopped = false;
    bool     waits   = false; /* for a processor: other programs have all */
    Instant  last_event = 0; /* of a kernel or NIC, for its program */
    unsigned job     = 0;
    unsigned endpoints = 0;           /* of simulated transports */
    unsigned sockets = 0, most_sockets = 1u << 16;
    unsigned registrations_to_fail = 0;
    std::map<std::string, StreamUse> streams_of; /* by its device */

    /** Has an interface for streams on this NIC, asked for a second time. */
    bool has_stream(unsigned nic)
    {
        const bool has = (stream_nics_ >> nic & 1) != 0;
        stream_nics_  |= 1u << nic;
        return has;
    }

    /* --- memory --- */

    /** What is in the arena, by offset. Nobody but the harness gets to see
     *  these addresses of what is on the GPU. */
    uint8_t *arena() { return arena_.get(); }
    size_t   arena_size() const { return arena_size_; }
    /** The GPU's part begins at arena_size(). */
    size_t   gpu_size() const { return device_.length(); }
    bool     has_gpu() const { return gpu_size() != 0; }
    bool     is_on_gpu(size_t offset) const { return offset >= arena_size_; }
    /** Where the process's program has that place of the arena. */
    void    *address(size_t offset) const;
    /** That is such an address of the GPU. */
    bool     is_device(uint64_t address) const
    {
        return device_.has(address) || find_block(address) != nullptr;
    }
    /** More memory of the GPU, for the transport itself. */
    uint64_t allocate_device(size_t length);
    void     free_device(uint64_t address);
    /** Such memory of another process, which stays until it is unmapped here as often.
     *  False if there is none at `base`. */
    bool     map_device(const Process &other, uint64_t base);
    void     unmap_device(uint64_t base);
    bool     in_arena(uint64_t address) const;
    uint64_t offset(uint64_t address) const;

    void open(const void *at, size_t length);
    void close(const void *at, size_t length);
    bool is_open(uint64_t address, size_t length) const;
    /** No byte was written more often than it was opened, as it is where nothing is
     *  lost on the way. */
    void check_written_once() const;

    /** A NIC, a copy engine or a kernel writes: checked, and done. */
    void write(uint64_t address, const void *data, size_t length, Hand hand,
               const char *by);
    /** The bytes that hardware finds at an address. */
    const uint8_t *see(uint64_t address) const;

    Registration &enter(uint64_t base, size_t length);
    void          leave(Registration &registration);
    /** The registration that the key opens, if it has [address, + length). */
    const Registration *find(uint64_t key, uint64_t address,
                             size_t length) const;
    size_t registrations() const { return by_key_.size(); }

    Gpu gpu;

private:
    struct Block { /* of allocate_device() */
        explicit Block(size_t length) : range(length), bytes(length) {}

        DeviceRange          range;
        std::vector<uint8_t> bytes;
    };

    using Blocks = std::vector<std::shared_ptr<Block>>;

    Block   *find_block(uint64_t address) const;
    bool     is_mapped(uint64_t address) const;
    uint8_t *at(uint64_t address) const;

    World                   &world_;
    const unsigned           index_, node_;
    Random                   chance_;
    uint32_t                 stream_nics_ = 0;
    size_t                   arena_size_;
    DeviceRange              device_;
    Blocks                   blocks_, mapped_; /* own, and others' */
    std::unique_ptr<uint8_t[], void (*)(void *)> arena_; /* zeroes, not touched yet */
    std::map<uint64_t, std::map<uint64_t, unsigned>> open_; /* offset to
                                              ends, with how often */
    std::map<uint64_t, int64_t> spare_; /* by offset: how much oftener than in front of
                                           it the arena was opened than written */
    std::map<uint64_t, Registration>                 by_key_;
};

} // namespace fuselink::sim

#endif
