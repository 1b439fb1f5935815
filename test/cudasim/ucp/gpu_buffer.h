/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_GPU_BUFFER_H
#define FUSELINK_TEST_GPU_BUFFER_H

#include "stack/worker.h"

#include <vector>

namespace fltest {

/** Kinds of memory that a program may hand to UCX. */
enum class Kind { Gpu, Managed, Pinned, Host };
inline constexpr Kind kKinds[] = {Kind::Gpu, Kind::Managed, Kind::Pinned,
                                    Kind::Host};
const char *name(Kind kind);

/** Fails unless this process has a GPU, and makes the one for its side of a
 *  case its current one. */
void use_gpu(unsigned number);

/** Memory of one of these kinds, with bytes around the data that must stay as
 *  they are. Only CUDA looks into it, whatever its kind. */
class GpuBuffer {
public:
    GpuBuffer(Kind kind, size_t size);
    ~GpuBuffer();
    GpuBuffer(const GpuBuffer &)            = delete;
    GpuBuffer &operator=(const GpuBuffer &) = delete;

    Kind  kind() const { return kind_; }
    size_t size() const { return size_; }
    char  *data() const { return memory_ + kGuard; }

    /** Writes the pattern `seed`, see fill(). */
    void write(uint64_t seed);
    /** A copy of the data. */
    std::vector<char> bytes() const;
    /** Fails unless the data is the pattern's and nothing beside it was
     *  touched. */
    void require(uint64_t seed, const char *what) const;

    /** As requests of UCP want it. */
    Request send(ucp_ep_h ep, ucp_tag_t tag) const;
    Request receive(ucp_worker_h worker, ucp_tag_t tag);

private:
    static constexpr size_t        kGuard     = 40;
    static constexpr unsigned char kUntouched = 0xee;

    Kind  kind_;
    size_t size_;
    char  *memory_ = nullptr;
};

} // namespace fltest

#endif
