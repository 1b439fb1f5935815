/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "memory.h"

#include <cstdio>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/identity.h"
#include "ucs_ext/process.h"

namespace cudasim {

using fuselink::ProcessId;

Memory::Memory(const Topology &topology, Node &node)
    : node_(node), arenas_(topology.gpus().size())
{
    for (const Gpu &gpu : topology.gpus()) {
        sizes_.push_back(gpu.memory);
    }
}

BlockRef Memory::find(const void *address) const
{
    uintptr_t        where = reinterpret_cast<uintptr_t>(address);
    std::shared_lock guard(lock_);
    auto             it = blocks_.upper_bound(where);
    if (it == blocks_.end() ||
        where < reinterpret_cast<uintptr_t>(it->second->base)) {
        return nullptr;
    }
    return it->second;
}

bool Memory::is_gpu_address(const void *address) const
{
    std::unique_lock guard(arena_lock_);
    for (const auto &arena : arenas_) {
        const char *where = static_cast<const char *>(address);
        if (arena != nullptr && where >= arena->mapping()->base() &&
            where < arena->mapping()->base() + arena->mapping()->size()) {
            return true;
        }
    }
    return false;
}

BlockRef Memory::insert(Block block)
{
    std::unique_lock guard(lock_);
    block.id = next_id_++;
    auto ref = std::make_shared<Block>(std::move(block));
    blocks_[reinterpret_cast<uintptr_t>(ref->base) + ref->size] = ref;
    return ref;
}

BlockRef Memory::allocate(int gpu, size_t size)
{
    const size_t room =
        (size + Arena::kGranule - 1) / Arena::kGranule * Arena::kGranule;
    if (room < size || !node_.take_memory(gpu, room)) {
        return nullptr;
    }
    std::unique_lock guard(arena_lock_);
    auto            &arena = arenas_[gpu];
    if (arena == nullptr) {
        /* Twice the memory, so that scattered free stretches do not end an
         * allocation that the GPU has the memory for. */
        std::string error;
        arena = Arena::make(sizes_[gpu] * 2, error);
        if (arena == nullptr) {
            fprintf(stderr, "cudasim: no memory for GPU %d: %s\n", gpu,
                    error.c_str());
        }
    }
    auto offset = arena != nullptr ? arena->allocate(room) : std::nullopt;
    if (!offset) {
        node_.return_memory(gpu, room);
        return nullptr;
    }
    auto release = [this, gpu, room, offset = *offset](void *) {
        std::unique_lock again(arena_lock_);
        arenas_[gpu]->release(offset);
        node_.return_memory(gpu, room);
    };
    Block block{Block::Kind::Device, arena->mapping()->base() + *offset, size,
                gpu, arena->mapping()->alias() + *offset};
    block.offset = *offset;
    block.hold   = std::shared_ptr<void>(block.memory, release);
    return insert(std::move(block));
}

BlockRef Memory::anonymous(Block::Kind kind, int gpu, size_t size)
{
    void *memory = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return nullptr;
    }
    Block block{kind, static_cast<char *>(memory), size, gpu,
                static_cast<char *>(memory)};
    block.hold = std::shared_ptr<void>(
        memory, [size](void *address) { munmap(address, size); });
    return insert(std::move(block));
}

BlockRef Memory::allocate_managed(int gpu, size_t size)
{
    return anonymous(Block::Kind::Managed, gpu, size);
}

BlockRef Memory::allocate_host(size_t size)
{
    return anonymous(Block::Kind::Host, kHost, size);
}

BlockRef Memory::register_host(void *address, size_t size)
{
    uintptr_t first = reinterpret_cast<uintptr_t>(address);
    {
        std::shared_lock guard(lock_);
        auto             it = blocks_.upper_bound(first);
        if (it != blocks_.end() &&
            reinterpret_cast<uintptr_t>(it->second->base) < first + size) {
            return nullptr;
        }
    }
    char *memory = static_cast<char *>(address);
    return insert({Block::Kind::Registered, memory, size, kHost, memory});
}

void Memory::remove(const BlockRef &block)
{
    std::unique_lock guard(lock_);
    blocks_.erase(reinterpret_cast<uintptr_t>(block->base) + block->size);
}

Handle Memory::export_block(const Block &block)
{
    std::unique_lock guard(arena_lock_);
    const Arena     &arena = *arenas_[block.gpu];
    Handle           handle{};
    handle.magic   = kHandleMagic;
    handle.host    = host_number();
    handle.process = ProcessId::self().word();
    handle.inode   = arena.inode();
    handle.offset  = block.offset;
    handle.size    = block.size;
    handle.block   = block.id;
    handle.fd      = arena.fd();
    handle.gpu     = block.gpu;
    return handle;
}

Memory::Import Memory::import_block(const Handle &handle, BlockRef &block)
{
    if (handle.magic != kHandleMagic || handle.host != host_number() ||
        handle.gpu < 0 ||
        static_cast<size_t>(handle.gpu) >= sizes_.size() ||
        handle.size == 0 || handle.offset % Arena::kGranule != 0) {
        return Import::NotAHandle;
    }
    ProcessId owner(handle.process);
    if (owner == ProcessId::self()) {
        return Import::OwnProcess;
    }
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", owner.pid(), handle.fd);
    int         fd = open(path, O_RDWR | O_CLOEXEC);
    struct stat status{};
    if (fd < 0) {
        return Import::Gone;
    }
    /* Numbers are used again; the file tells whether it is the one meant. */
    if (fstat(fd, &status) != 0 || status.st_ino != handle.inode ||
        handle.size > static_cast<uint64_t>(status.st_size) ||
        handle.offset > static_cast<uint64_t>(status.st_size) - handle.size) {
        close(fd);
        return Import::Gone;
    }
    auto mapping = Mapping::make(fd, handle.offset, handle.size);
    close(fd);
    if (mapping == nullptr) {
        return Import::NoMemory;
    }
    Block imported{Block::Kind::Imported, mapping->base(), handle.size,
                   handle.gpu, mapping->alias()};
    imported.hold = mapping;
    block         = insert(std::move(imported));
    return Import::Ok;
}

} // namespace cudasim
