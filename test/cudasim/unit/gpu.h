/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_CUDASIM_UNIT_GPU_H
#define FUSELINK_CUDASIM_UNIT_GPU_H

#include <cstdint>
#include <cuda.h>
#include <gtest/gtest.h>
#include <vector>

namespace cudasim_test {

#define CU(_call) ASSERT_EQ(_call, CUDA_SUCCESS)

/** The primary context of a device, current in this thread. */
inline CUcontext use(CUdevice device)
{
    CUcontext context = nullptr;
    EXPECT_EQ(cuInit(0), CUDA_SUCCESS);
    EXPECT_EQ(cuDevicePrimaryCtxRetain(&context, device), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
    return context;
}

/** GPU memory of the current context. */
inline CUdeviceptr gpu_memory(size_t size)
{
    CUdeviceptr memory = 0;
    EXPECT_EQ(cuMemAlloc(&memory, size), CUDA_SUCCESS);
    return memory;
}

/** Pinned memory. */
inline uint8_t *host_memory(size_t size)
{
    void *memory = nullptr;
    EXPECT_EQ(cuMemHostAlloc(&memory, size, 0), CUDA_SUCCESS);
    return static_cast<uint8_t *>(memory);
}

inline std::vector<uint8_t> pattern(size_t size, unsigned seed)
{
    std::vector<uint8_t> bytes(size);
    uint32_t             state = seed * 2654435761u + 1;
    for (uint8_t &byte : bytes) {
        state = state * 1664525u + 1013904223u;
        byte  = static_cast<uint8_t>(state >> 24);
    }
    return bytes;
}

inline std::vector<uint8_t> read_back(CUdeviceptr from, size_t size)
{
    std::vector<uint8_t> bytes(size);
    EXPECT_EQ(cuMemcpyDtoH(bytes.data(), from, size), CUDA_SUCCESS);
    return bytes;
}

} // namespace cudasim_test

#endif
