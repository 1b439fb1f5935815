/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_RELAY_GPU_CONTEXT_H
#define FUSELINK_RELAY_GPU_CONTEXT_H

#include <array>
#include <cstdint>

namespace fuselink {

/** The CUDA context that a thread works in, by the driver that the program has
 *  loaded: nothing is linked to CUDA. */
class GpuContext {
public:
    using Uuid = std::array<uint8_t, 16>;

    /** That of the calling thread; none where the program uses no GPU yet. */
    static GpuContext current();

    explicit operator bool() const { return handle_ != nullptr; }
    /** Makes it that of the calling thread, a thread of fuselink's own. What
     *  that does is no part of the graphs that the program's threads capture:
     *  it would fail else while they do. */
    bool enter() const;
    /** Of its GPU, in whose thread it is. False if the driver does not say. */
    static bool uuid(Uuid &uuid);
    /** Bytes of its GPU's memory. Both 0 if the driver does not say. */
    static void memory(uint64_t &left, uint64_t &total);

    /** By which another process maps memory of a GPU. */
    using Handle = std::array<uint8_t, 64>;
    /** Of what begins at `memory`. False if the driver has none. */
    static bool export_memory(const void *memory, Handle &handle);
    /** Maps another process's memory here, for the GPU of the calling thread; a second
     *  time it is where it was. nullptr if that cannot be. */
    static void *map(const Handle &handle);
    /** The end of a map(). */
    static void  unmap(void *memory);

private:
    void *handle_ = nullptr;
};

} // namespace fuselink

#endif
