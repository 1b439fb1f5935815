/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_CUDASIM_MEMORY_H
#define FUSELINK_CUDASIM_MEMORY_H

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "sim/arena.h"
#include "sim/node.h"
#include "sim/topology.h"

namespace cudasim {

/** Something that the program knows by its address. */
struct Block {
    enum class Kind {
        Device,    /* of a GPU, allocated here */
        Imported,  /* of a GPU, allocated by another process */
        Managed,   /* of GPU and CPU */
        Host,      /* pinned, allocated here */
        Registered /* pinned, the program's own */
    };

    Kind     kind;
    char    *base;
    size_t   size;
    int      gpu;    /* kHost for Host and Registered */
    char    *memory; /* where the emulator reads and writes it */
    unsigned flags   = 0;
    size_t   offset  = 0; /* in its arena */
    uint64_t id      = 0; /* never used again in this process */
    void    *context = nullptr;
    unsigned opened  = 1; /* Imported: how often */
    std::shared_ptr<void> hold = nullptr; /* keeps the memory there while copies run */

    bool on_gpu() const { return gpu != kHost; }
};

using BlockRef = std::shared_ptr<Block>;

/** What another process needs to map a block; at most 64 bytes. */
struct Handle {
    uint64_t magic;
    uint64_t host;    /* emulated hosts of a machine see each other's files */
    uint64_t process; /* fuselink::ProcessId */
    uint64_t inode;
    uint64_t offset;
    uint64_t size;
    uint64_t block;
    int32_t  fd;
    int32_t  gpu;
};
static_assert(sizeof(Handle) <= 64);

/** All memory of this process that the driver knows. Any thread. */
class Memory {
public:
    Memory(const Topology &topology, Node &node);

    /** The block that holds this address, if any. */
    BlockRef find(const void *address) const;

    /** Is it an address of GPU memory, allocated or not? */
    bool is_gpu_address(const void *address) const;

    /** nullptr if the GPU has no more. */
    BlockRef allocate(int gpu, size_t size);
    BlockRef allocate_managed(int gpu, size_t size);
    BlockRef allocate_host(size_t size);
    /** nullptr if a part of it is registered already. */
    BlockRef register_host(void *address, size_t size);
    /** Forgets a block that begins here; its memory goes with the last copy
     *  that uses it. */
    void remove(const BlockRef &block);

    enum class Import { Ok, NotAHandle, OwnProcess, Gone, NoMemory };

    Handle export_block(const Block &block);
    Import import_block(const Handle &handle, BlockRef &block);

    uint64_t free_bytes(int gpu) { return node_.free_memory(gpu); }

private:
    static constexpr uint64_t kHandleMagic = 0x6d656d2d6d697363;

    BlockRef insert(Block block);
    BlockRef anonymous(Block::Kind kind, int gpu, size_t size);

    Node                                &node_;
    std::vector<uint64_t>                sizes_;
    std::vector<std::unique_ptr<Arena>>  arenas_; /* of GPUs */
    mutable std::recursive_mutex         arena_lock_;
    mutable std::shared_mutex            lock_;
    std::map<uintptr_t, BlockRef>        blocks_; /* by their end */
    uint64_t                             next_id_ = 1;
};

} // namespace cudasim

#endif
