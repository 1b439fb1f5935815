/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include <atomic>
#include <cstring>
#include <unistd.h>

#include "sim/clock.h"
#include "unit/gpu.h"
#include "unit/process.h"

using namespace cudasim_test;
using cudasim::now_ns;

namespace {

/* 100 kB take 10 ms. */
const std::string kSlow = "gpus 2\nmemory 64MiB\npcie 10MB/s\n"
                          "nvlink 0 1 10MB/s\n";
constexpr size_t kSize = 100000;

CUstream make_stream(unsigned flags = CU_STREAM_NON_BLOCKING)
{
    CUstream stream = nullptr;
    EXPECT_EQ(cuStreamCreate(&stream, flags), CUDA_SUCCESS);
    return stream;
}

CUevent make_event(unsigned flags = 0)
{
    CUevent event = nullptr;
    EXPECT_EQ(cuEventCreate(&event, flags), CUDA_SUCCESS);
    return event;
}

TEST(Stream, CopyLandsWhenItIsDoneAndNotBefore)
{
    run(kSlow, [] {
        use(0);
        CUdeviceptr memory = gpu_memory(kSize);
        uint8_t    *host   = host_memory(kSize);
        CUstream    stream = make_stream();
        CUevent     event  = make_event();
        memset(host, 0, kSize);
        CU(cuMemsetD8(memory, 9, kSize));
        CU(cuMemcpyDtoHAsync(host, memory, kSize, stream));
        CU(cuEventRecord(event, stream));
        EXPECT_EQ(host[kSize - 1], 0);
        EXPECT_EQ(cuEventQuery(event), CUDA_ERROR_NOT_READY);
        EXPECT_EQ(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
        CU(cuStreamSynchronize(stream));
        CU(cuEventQuery(event));
        CU(cuStreamQuery(stream));
        EXPECT_EQ(host[0], 9);
        EXPECT_EQ(host[kSize - 1], 9);
    });
}

TEST(Stream, WorkOfAStreamIsInOrder)
{
    run(kSlow, [] {
        use(0);
        CUdeviceptr a = gpu_memory(kSize), b = gpu_memory(kSize);
        uint8_t    *host = host_memory(kSize);
        CUstream    stream = make_stream();
        memset(host, 1, kSize);
        for (unsigned char i = 0; i < 20; ++i) {
            CU(cuMemsetD8Async(a, i, kSize, stream));
            CU(cuMemcpyDtoDAsync(b, a, kSize, stream));
        }
        CU(cuMemcpyDtoHAsync(host, b, kSize, stream));
        CU(cuStreamSynchronize(stream));
        EXPECT_EQ(std::vector<uint8_t>(host, host + kSize),
                  std::vector<uint8_t>(kSize, 19));
    });
}

TEST(Stream, WaitsForAnEventOfAnother)
{
    run(kSlow, [] {
        use(0);
        CUdeviceptr memory = gpu_memory(kSize);
        uint8_t    *in = host_memory(kSize), *out = host_memory(kSize);
        CUstream    first = make_stream(), second = make_stream();
        CUevent     event = make_event(CU_EVENT_DISABLE_TIMING);
        CU(cuMemsetD8(memory, 0, kSize));
        memset(in, 5, kSize);
        CU(cuMemcpyHtoDAsync(memory, in, kSize, first));
        CU(cuEventRecord(event, first));
        CU(cuStreamWaitEvent(second, event, 0));
        CU(cuMemcpyDtoHAsync(out, memory, kSize, second));
        CU(cuEventDestroy(event)); /* the wait is of the recording */
        CU(cuStreamSynchronize(second));
        EXPECT_EQ(std::vector<uint8_t>(out, out + kSize),
                  std::vector<uint8_t>(kSize, 5));
    });
}

TEST(Stream, StreamsDoNotWaitForEachOther)
{
    run(kSlow, [] {
        use(0);
        CUdeviceptr memory = gpu_memory(10 * kSize);
        uint8_t    *host   = host_memory(10 * kSize);
        CUstream    slow = make_stream(), quick = make_stream();
        CU(cuMemcpyHtoDAsync(memory, host, 10 * kSize, slow));
        CU(cuMemsetD8Async(memory, 1, 10, quick));
        CU(cuStreamSynchronize(quick));
        EXPECT_EQ(cuStreamQuery(slow), CUDA_ERROR_NOT_READY);
        CU(cuCtxSynchronize());
        CU(cuStreamQuery(slow));
    });
}

TEST(Stream, DefaultStreamIsInOrderWithTheBlockingOnes)
{
    run(kSlow, [] {
        use(0);
        CUdeviceptr memory = gpu_memory(kSize);
        uint8_t    *in = host_memory(kSize), *out = host_memory(kSize);
        CUstream    blocking = make_stream(CU_STREAM_DEFAULT);
        for (int i = 1; i < 4; ++i) {
            memset(in, i, kSize);
            CU(cuMemcpyHtoDAsync(memory, in, kSize, blocking));
            CU(cuMemcpyDtoHAsync(out, memory, kSize, nullptr));
            CU(cuMemsetD8Async(memory, 0, kSize, blocking));
            CU(cuCtxSynchronize());
            EXPECT_EQ(std::vector<uint8_t>(out, out + kSize),
                      std::vector<uint8_t>(kSize, static_cast<uint8_t>(i)));
        }
    });
}

TEST(Stream, CallsAreMadeInTheirPlace)
{
    run(kSlow, [] {
        use(0);
        struct State {
            uint8_t         *host;
            std::atomic<int> seen{-1};
            CUresult         wait = CUDA_SUCCESS;
        } state;
        state.host         = host_memory(kSize);
        CUdeviceptr memory = gpu_memory(kSize);
        CUstream    stream = make_stream();
        CU(cuMemsetD8(memory, 7, kSize));
        memset(state.host, 0, kSize);
        CU(cuMemcpyDtoHAsync(state.host, memory, kSize, stream));
        CU(cuLaunchHostFunc(stream, [](void *argument) {
            auto s  = static_cast<State *>(argument);
            s->wait = cuCtxSynchronize(); /* would wait for itself */
            usleep(20000);
            s->seen = s->host[kSize - 1];
        }, &state));
        CU(cuMemsetD8Async(memory, 0, kSize, stream));
        CU(cuStreamSynchronize(stream));
        EXPECT_EQ(state.seen, 7);
        EXPECT_EQ(state.wait, CUDA_ERROR_NOT_PERMITTED);
    });
}

TEST(Stream, OrdinaryMemoryMayChangeWhenTheCallReturns)
{
    run(kSlow, [] {
        use(0);
        CUdeviceptr memory = gpu_memory(2 * kSize);
        CUstream    stream = make_stream();
        for (size_t size : {size_t(1000), 2 * kSize}) {
            auto bytes = pattern(size, 3), sent = bytes;
            CU(cuMemcpyHtoDAsync(memory, bytes.data(), size, stream));
            std::fill(bytes.begin(), bytes.end(), 0);
            CU(cuStreamSynchronize(stream));
            CU(cuMemcpyDtoHAsync(bytes.data(), memory, size, stream));
            EXPECT_EQ(bytes, sent); /* without waiting */
        }
    });
}

TEST(Stream, SmallCopyFromOrdinaryMemoryDoesNotWait)
{
    run(kSlow, [] {
        use(0);
        CUdeviceptr memory = gpu_memory(10 * kSize);
        uint8_t    *host   = host_memory(10 * kSize);
        CUstream    stream = make_stream();
        uint8_t     byte   = 1;
        CU(cuMemcpyHtoDAsync(memory, host, 10 * kSize, stream));
        CU(cuMemcpyHtoDAsync(memory, &byte, 1, stream));
        EXPECT_EQ(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
        CU(cuStreamSynchronize(stream));
    });
}

TEST(Stream, TwoDimensions)
{
    run(kSlow, [] {
        use(0);
        constexpr size_t kWidth = 100, kRows = 50, kPitch = 160;
        CUdeviceptr      memory = 0;
        size_t           pitch  = 0;
        CU(cuMemAllocPitch(&memory, &pitch, kWidth, kRows, 4));
        auto                 bytes = pattern(kPitch * kRows, 4);
        std::vector<uint8_t> back(kPitch * kRows, 0), expected = back;
        CUDA_MEMCPY2D        copy{};
        copy.srcMemoryType = CU_MEMORYTYPE_HOST;
        copy.srcHost       = bytes.data();
        copy.srcPitch      = kPitch;
        copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
        copy.dstDevice     = memory;
        copy.dstPitch      = pitch;
        copy.WidthInBytes  = kWidth;
        copy.Height        = kRows;
        CU(cuMemcpy2D(&copy));
        std::swap(copy.srcMemoryType, copy.dstMemoryType);
        std::swap(copy.srcPitch, copy.dstPitch);
        copy.srcDevice = memory;
        copy.dstHost   = back.data();
        CU(cuMemcpy2D(&copy));
        for (size_t row = 0; row < kRows; ++row) {
            std::copy_n(&bytes[row * kPitch], kWidth, &expected[row * kPitch]);
        }
        EXPECT_EQ(back, expected);
    });
}

TEST(Stream, FillsOfWiderValues)
{
    run(kSlow, [] {
        use(0);
        CUdeviceptr memory = gpu_memory(1000);
        CU(cuMemsetD32(memory, 0x04030201, 250));
        auto bytes = read_back(memory, 1000);
        for (size_t i = 0; i < bytes.size(); ++i) {
            ASSERT_EQ(bytes[i], i % 4 + 1);
        }
        EXPECT_EQ(cuMemsetD32(memory + 1, 0, 1), CUDA_ERROR_INVALID_VALUE);
    });
}

TEST(Stream, FreeingWaitsForCopies)
{
    run(kSlow, [] {
        use(0);
        CUdeviceptr memory = gpu_memory(kSize);
        uint8_t    *host   = host_memory(kSize);
        CUstream    stream = make_stream();
        memset(host, 0, kSize);
        CU(cuMemsetD8(memory, 3, kSize));
        CU(cuMemcpyDtoHAsync(host, memory, kSize, stream));
        CU(cuMemFree(memory));
        EXPECT_EQ(host[kSize - 1], 3);
    });
}

TEST(Stream, WrongHandlesAreRefused)
{
    run(kSlow, [] {
        use(0);
        CUstream stream = make_stream();
        CUevent  event  = make_event();
        CU(cuEventQuery(event)); /* never recorded: done */
        CU(cuStreamDestroy(stream));
        CU(cuEventDestroy(event));
        EXPECT_EQ(cuStreamQuery(stream), CUDA_ERROR_INVALID_HANDLE);
        EXPECT_EQ(cuStreamDestroy(stream), CUDA_ERROR_INVALID_HANDLE);
        EXPECT_EQ(cuEventQuery(event), CUDA_ERROR_INVALID_HANDLE);
        EXPECT_EQ(cuEventRecord(event, nullptr), CUDA_ERROR_INVALID_HANDLE);
        EXPECT_EQ(cuEventCreate(&event, CU_EVENT_INTERPROCESS |
                                            CU_EVENT_DISABLE_TIMING),
                  CUDA_ERROR_NOT_SUPPORTED);
    });
}

TEST(Stream, BrokenCopyBreaksTheContext)
{
    run(kSlow, [] {
        use(0);
        CUdeviceptr memory = gpu_memory(kSize);
        uint8_t    *host   = host_memory(kSize);
        CUstream    stream = make_stream();
        CUevent     event  = make_event();
        memset(host, 1, kSize);
        CU(cuMemcpyDtoHAsync(host, memory, kSize, stream)); /* the first is well */
        CU(cuMemcpyDtoHAsync(host, memory, kSize, stream));
        CU(cuEventRecord(event, stream));
        EXPECT_EQ(cuStreamSynchronize(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
        EXPECT_EQ(cuEventQuery(event), CUDA_ERROR_ILLEGAL_ADDRESS);
        EXPECT_EQ(cuMemcpyDtoHAsync(host, memory, kSize, stream),
                  CUDA_ERROR_ILLEGAL_ADDRESS);
        use(1); /* the other GPU's is well */
        CU(cuCtxSynchronize());
    }, {{"CUDASIM_FAULTS", "copy-async@0#2"}});
}

/* With the privilege or, after a word, without. */
TEST(Stream, CopiesAreDoneByAThreadThatGoesFirst)
{
    run(kSlow, [] {
        use(0);
        CUdeviceptr memory = gpu_memory(kSize);
        auto        bytes  = pattern(kSize, 5);
        CU(cuMemcpyHtoD(memory, bytes.data(), kSize));
        EXPECT_EQ(read_back(memory, kSize), bytes);
    }, {{"CUDASIM_REALTIME", "1"}});
    run(kSlow, [] { EXPECT_EQ(cuInit(0), CUDA_ERROR_NO_DEVICE); },
        {{"CUDASIM_REALTIME", "yes"}});
}

TEST(Stream, CopiesBeginLateByChance)
{
    run("gpus 1\nmemory 64MiB\n", [] {
        use(0);
        constexpr int kCopies = 30;
        CUdeviceptr   memory  = gpu_memory(kCopies);
        uint8_t      *in = host_memory(kCopies), *out = host_memory(kCopies);
        CUstream      stream = make_stream();
        uint64_t      start  = now_ns();
        for (int i = 0; i < kCopies; ++i) {
            in[i] = static_cast<uint8_t>(i + 1);
            CU(cuMemcpyHtoDAsync(memory, in, static_cast<size_t>(i) + 1, stream));
        }
        CU(cuMemcpyDtoHAsync(out, memory, kCopies, stream));
        CU(cuStreamSynchronize(stream));
        /* 31 times 5 ms in the mean; less than a third of that never occurs */
        EXPECT_GT(now_ns() - start, 50000000u);
        EXPECT_EQ(memcmp(in, out, kCopies), 0);
    }, {{"CUDASIM_JITTER", "10ms"}});
    run(kSlow, [] { EXPECT_EQ(cuInit(0), CUDA_ERROR_NO_DEVICE); },
        {{"CUDASIM_JITTER", "often"}});
}

TEST(Stream, FaultsOfCalls)
{
    run(kSlow, [] {
        use(0);
        CUdeviceptr memory = gpu_memory(10), none = 0;
        void       *pinned = nullptr;
        uint8_t     byte   = 1;
        EXPECT_EQ(cuMemAlloc(&none, 10), CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(cuMemHostAlloc(&pinned, 10, 0), CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(cuMemHostRegister(&byte, 1, 0), CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(cuMemcpyHtoD(memory, &byte, 1), CUDA_ERROR_LAUNCH_FAILED);
        CU(cuMemcpyHtoD(memory, &byte, 1)); /* it says no twice */
        int can = 1;
        CU(cuDeviceCanAccessPeer(&can, 0, 1));
        EXPECT_EQ(can, 0);
    }, {{"CUDASIM_FAULTS",
         "alloc#2 host-alloc host-register copy#1x1 peer@0-1"}});
}

} // namespace
