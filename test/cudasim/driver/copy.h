/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_CUDASIM_COPY_H
#define FUSELINK_CUDASIM_COPY_H

#include "driver/handles.h"

namespace cudasim {

/** A rectangle of memory; one row for what is not two-dimensional. */
struct Rectangle {
    const void *address;
    size_t      pitch;
    bool        must_be_known = false; /* the call says it is the driver's */
};

/**
 * Copies, or begins to.
 *
 * Host memory that is not pinned is gone into no queue: the caller may change
 * it when the call returns, so a copy from it returns when it has been read (a
 * small one is put aside at once) and a copy to it when it is done.
 *
 * @param wait return when the copy is done
 */
CUresult copy(Rectangle to, Rectangle from, size_t width, size_t rows,
              CUstream handle, bool wait);

/** Fills with a value of 1, 2 or 4 bytes; width is in bytes. */
CUresult fill(CUdeviceptr to, size_t pitch, uint32_t value, unsigned value_size,
              size_t width, size_t rows, CUstream handle, bool wait);

} // namespace cudasim

#endif
