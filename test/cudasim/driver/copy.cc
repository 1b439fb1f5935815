/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "driver/copy.h"

#include <cstring>

namespace cudasim {
namespace {

constexpr size_t kPutAside = 64 << 10;

/* One side of a copy, found in the tables. */
struct Side {
    Extent extent;
    int    gpu;
    bool   pinned;
};

CUresult find_side(Driver &driver, const Rectangle &rectangle, size_t width,
                   size_t rows, Side &side)
{
    auto     start = static_cast<char *>(const_cast<void *>(rectangle.address));
    size_t   span  = (rows - 1) * rectangle.pitch + width;
    BlockRef block = driver.memory.find(start);
    if (start == nullptr || (rows > 1 && rectangle.pitch < width)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (block == nullptr) {
        if (rectangle.must_be_known || driver.memory.is_gpu_address(start)) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        side = {{start, rectangle.pitch, nullptr}, kHost, false};
        return CUDA_SUCCESS;
    }
    size_t offset = static_cast<size_t>(start - block->base);
    if (span > block->size - offset) {
        /* A pinned part of a larger stretch of host memory is host memory. */
        if (block->on_gpu() || block->kind == Block::Kind::Host) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        side = {{start, rectangle.pitch, nullptr}, kHost, false};
        return CUDA_SUCCESS;
    }
    side = {{block->memory + offset, rectangle.pitch, block->hold}, block->gpu,
            true};
    return CUDA_SUCCESS;
}

/* A copy of a small rectangle, for a source that may change. */
void put_aside(Extent &from, size_t width, size_t rows)
{
    std::shared_ptr<char[]> aside(new char[width * rows]);
    for (size_t row = 0; row < rows; ++row) {
        memcpy(aside.get() + row * width, from.memory + row * from.pitch, width);
    }
    from = {aside.get(), width, aside};
}

} // namespace

CUresult copy(Rectangle to, Rectangle from, size_t width, size_t rows,
              CUstream handle, bool wait)
{
    if (Engine::in_call()) {
        return CUDA_ERROR_NOT_PERMITTED; /* as all of CUDA in a stream's call */
    }
    StreamRef stream;
    CUresult  result = find_stream(handle, stream);
    if (result != CUDA_SUCCESS || width == 0 || rows == 0) {
        return result;
    }
    Driver &driver = *Driver::get();
    Side    target, source;
    result = find_side(driver, to, width, rows, target);
    if (result == CUDA_SUCCESS) {
        result = find_side(driver, from, width, rows, source);
    }
    if (result != CUDA_SUCCESS) {
        return result;
    }
    if (driver.faults.hits(Fault::Copy, source.gpu, target.gpu)) {
        return CUDA_ERROR_LAUNCH_FAILED;
    }
    if (driver.faults.hits(Fault::CopyAsync, source.gpu, target.gpu)) {
        driver.engine.push(stream, Break{CUDA_ERROR_ILLEGAL_ADDRESS});
    } else {
        if (!source.pinned && target.pinned && width * rows <= kPutAside) {
            put_aside(source.extent, width, rows);
            source.pinned = true;
        }
        wait |= !source.pinned || !target.pinned;
        driver.engine.push(stream, Copy{target.extent, source.extent, width,
                                        rows,
                                        driver.route(source.gpu, target.gpu)});
    }
    if (!wait) {
        return CUDA_SUCCESS;
    }
    driver.engine.wait(stream);
    return static_cast<CUresult>(stream->group().error());
}

CUresult fill(CUdeviceptr to, size_t pitch, uint32_t value, unsigned value_size,
              size_t width, size_t rows, CUstream handle, bool wait)
{
    StreamRef stream;
    CUresult  result = find_stream(handle, stream);
    if (result != CUDA_SUCCESS || width == 0 || rows == 0) {
        return result;
    }
    if (to % value_size != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    Driver &driver = *Driver::get();
    Side    target;
    result = find_side(driver, {reinterpret_cast<void *>(to), pitch, true}, width,
                       rows, target);
    if (result != CUDA_SUCCESS) {
        return result;
    }
    driver.engine.push(stream,
                       Fill{target.extent, width, rows, value, value_size,
                            driver.route(target.gpu, target.gpu)});
    if (!wait) {
        return CUDA_SUCCESS;
    }
    driver.engine.wait(stream);
    return static_cast<CUresult>(stream->group().error());
}

} // namespace cudasim
