/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_GPU_WINDOW_H
#define FUSELINK_TEST_GPU_WINDOW_H

#include "gpu_buffer.h"

namespace fltest {

/** A GpuBuffer that others may use. */
class GpuWindow {
public:
    GpuWindow(const Context &context, Kind kind, size_t size);
    ~GpuWindow();
    GpuWindow(const GpuWindow &)            = delete;
    GpuWindow &operator=(const GpuWindow &) = delete;

    GpuBuffer &buffer() { return buffer_; }

    /** What Remote wants, see Memory::describe(). */
    Bytes describe() const;

private:
    const Context &context_;
    GpuBuffer      buffer_;
    ucp_mem_h      memh_ = nullptr;
};

} // namespace fltest

#endif
