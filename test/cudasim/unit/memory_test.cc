/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include <csignal>
#include <cstring>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit/gpu.h"
#include "unit/process.h"

using namespace cudasim_test;

namespace {

const std::string kNode = "gpus 2\nmemory 64MiB\nnvlink 0 1 none\n";

/* A GPU pointer in the CPU's hands ends the process. */
void touch_and_die(std::function<void(char *)> touch)
{
    Process process(kNode, [&](Channel &channel) {
        rlimit none{0, 0};
        setrlimit(RLIMIT_CORE, &none);
        signal(SIGSEGV, SIG_DFL);
        use(0);
        CUdeviceptr memory = gpu_memory(4096);
        channel.send(memory);
        touch(reinterpret_cast<char *>(memory));
    });
    EXPECT_NE(process.channel().receive<CUdeviceptr>(), 0u);
    EXPECT_EQ(process.signal(), SIGSEGV);
}

TEST(Memory, CpuCannotReadIt)
{
    touch_and_die([](char *memory) {
        volatile char byte = *memory;
        static_cast<void>(byte);
    });
}

TEST(Memory, CpuCannotWriteIt)
{
    touch_and_die([](char *memory) { *static_cast<volatile char *>(memory) = 1; });
}

TEST(Memory, DriverReadsAndWritesIt)
{
    run(kNode, [] {
        use(0);
        auto        bytes  = pattern(1000001, 1);
        CUdeviceptr memory = gpu_memory(bytes.size());
        CU(cuMemcpyHtoD(memory, bytes.data(), bytes.size()));
        EXPECT_EQ(read_back(memory, bytes.size()), bytes);
    });
}

TEST(Memory, PointersAreKnown)
{
    run(kNode, [] {
        use(1);
        CUdeviceptr memory = gpu_memory(10000), base = 0;
        size_t      size = 0;
        CU(cuMemGetAddressRange(&base, &size, memory + 5000));
        EXPECT_EQ(base, memory);
        EXPECT_EQ(size, 10000u);
        CUmemorytype type{};
        int          ordinal = -1;
        CU(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                 memory + 9999));
        CU(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                 memory));
        EXPECT_EQ(type, CU_MEMORYTYPE_DEVICE);
        EXPECT_EQ(ordinal, 1);
        EXPECT_EQ(cuMemGetAddressRange(&base, &size, memory + 10000),
                  CUDA_ERROR_NOT_FOUND);
        CU(cuMemFree(memory));
        EXPECT_EQ(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                        memory),
                  CUDA_ERROR_INVALID_VALUE);
    });
}

TEST(Memory, OrdinaryMemoryIsNoErrorForTheCallOfMany)
{
    run(kNode, [] {
        use(0);
        char                here = 0;
        CUmemorytype        type = CU_MEMORYTYPE_DEVICE;
        unsigned            managed = 1;
        CUpointer_attribute what[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                      CU_POINTER_ATTRIBUTE_IS_MANAGED};
        void               *values[] = {&type, &managed};
        CU(cuPointerGetAttributes(2, what, values,
                                  reinterpret_cast<CUdeviceptr>(&here)));
        EXPECT_EQ(static_cast<int>(type), 0);
        EXPECT_EQ(managed, 0u);
    });
}

TEST(Memory, ManagedIsForBoth)
{
    run(kNode, [] {
        use(0);
        CUdeviceptr memory = 0;
        CU(cuMemAllocManaged(&memory, 5000, CU_MEM_ATTACH_GLOBAL));
        memset(reinterpret_cast<void *>(memory), 7, 5000);
        unsigned managed = 0;
        CU(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                 memory));
        EXPECT_EQ(managed, 1u);
        CUdeviceptr plain = gpu_memory(5000);
        CU(cuMemcpyDtoD(plain, memory, 5000));
        EXPECT_EQ(read_back(plain, 5000), std::vector<uint8_t>(5000, 7));
        CU(cuMemFree(memory));
    });
}

TEST(Memory, PinnedAndRegistered)
{
    run(kNode, [] {
        use(0);
        std::vector<uint8_t> own(100000);
        CUmemorytype         type{};
        auto                 where = reinterpret_cast<CUdeviceptr>(own.data());
        CU(cuMemHostRegister(own.data(), own.size(), 0));
        CU(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, where));
        EXPECT_EQ(type, CU_MEMORYTYPE_HOST);
        EXPECT_EQ(cuMemHostRegister(own.data() + 10, 10, 0),
                  CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
        CU(cuMemHostUnregister(own.data()));
        EXPECT_EQ(cuMemHostUnregister(own.data()),
                  CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
        uint8_t *pinned = host_memory(100);
        pinned[99]      = 1;
        CU(cuMemFreeHost(pinned));
    });
}

TEST(Memory, WrongCallsAreRefused)
{
    run(kNode, [] {
        CUdeviceptr memory = 0;
        EXPECT_EQ(cuMemAlloc(&memory, 10), CUDA_ERROR_NOT_INITIALIZED);
        CU(cuInit(0));
        EXPECT_EQ(cuMemAlloc(&memory, 10), CUDA_ERROR_INVALID_CONTEXT);
        use(0);
        EXPECT_EQ(cuMemAlloc(&memory, 0), CUDA_ERROR_INVALID_VALUE);
        memory = gpu_memory(4096);
        std::vector<uint8_t> bytes(8192);
        EXPECT_EQ(cuMemcpyHtoD(memory, bytes.data(), 4097),
                  CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(cuMemcpyHtoD(memory + 1, bytes.data(), 4096),
                  CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(cuMemcpyDtoD(memory, reinterpret_cast<CUdeviceptr>(&bytes[0]),
                               10), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(cuMemFree(memory + 8), CUDA_ERROR_INVALID_VALUE);
        CU(cuMemFree(memory));
        EXPECT_EQ(cuMemFree(memory), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(cuMemcpyHtoD(memory, bytes.data(), 10),
                  CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(cuMemcpy(memory, reinterpret_cast<CUdeviceptr>(&bytes[0]), 10),
                  CUDA_ERROR_INVALID_VALUE);
        CUmemoryPool pool;
        EXPECT_EQ(cuDeviceGetDefaultMemPool(&pool, 0), CUDA_ERROR_NOT_SUPPORTED);
    });
}

TEST(Memory, GpuHasAsMuchAsItHas)
{
    run(kNode, [] {
        use(0);
        size_t free = 0, total = 0;
        CUdeviceptr most = gpu_memory(60u << 20), more = 0;
        CU(cuMemGetInfo(&free, &total));
        EXPECT_EQ(total, 64u << 20);
        EXPECT_EQ(free, 4u << 20);
        EXPECT_EQ(cuMemAlloc(&more, 5u << 20), CUDA_ERROR_OUT_OF_MEMORY);
        CU(cuMemFree(most));
        CU(cuMemAlloc(&more, 64u << 20));
        use(1); /* the other has its own */
        CU(cuMemAlloc(&more, 64u << 20));
    });
}

/* Every second one freed leaves no stretch of that size, yet there is room. */
TEST(Memory, ScatteredRoomIsRoom)
{
    run(kNode, [] {
        use(0);
        std::vector<CUdeviceptr> parts;
        for (int i = 0; i < 64; ++i) {
            parts.push_back(gpu_memory(1u << 20));
        }
        for (size_t i = 0; i < parts.size(); i += 2) {
            CU(cuMemFree(parts[i]));
        }
        CUdeviceptr large = 0;
        CU(cuMemAlloc(&large, 32u << 20));
    });
}

TEST(Memory, FreedMemoryIsAllocatedAnew)
{
    run(kNode, [] {
        use(0);
        for (int i = 0; i < 2000; ++i) {
            CUdeviceptr memory = 0;
            CU(cuMemAlloc(&memory, 16u << 20));
            CU(cuMemFree(memory));
        }
    });
}

TEST(Memory, VisibleDevices)
{
    run(kNode, [] {
        int count = 0, bus = 0;
        CU(cuInit(0));
        CU(cuDeviceGetCount(&count));
        EXPECT_EQ(count, 1);
        CU(cuDeviceGetAttribute(&bus, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, 0));
        EXPECT_EQ(bus, 0x11);
    }, {{"CUDA_VISIBLE_DEVICES", "1"}});
    run(kNode, [] {
        EXPECT_EQ(cuInit(0), CUDA_ERROR_NO_DEVICE);
        EXPECT_EQ(cuInit(0), CUDA_ERROR_NO_DEVICE);
    }, {{"CUDA_VISIBLE_DEVICES", ""}});
    run(kNode, [] {
        int count = 0;
        CU(cuInit(0));
        CU(cuDeviceGetCount(&count));
        EXPECT_EQ(count, 1);
    }, {{"CUDASIM_GPUS", "1"}});
}

TEST(Memory, ChildOfAForkHasNoDriver)
{
    run(kNode, [] {
        use(0);
        pid_t child = fork();
        if (child == 0) {
            CUdeviceptr memory = 0;
            _exit(cuMemAlloc(&memory, 10) == CUDA_ERROR_NOT_INITIALIZED &&
                          cuInit(0) == CUDA_ERROR_NOT_INITIALIZED ? 0 : 1);
        }
        int status = -1;
        waitpid(child, &status, 0);
        EXPECT_EQ(status, 0);
        gpu_memory(10); /* the parent still has */
    });
}

TEST(Memory, WrongSettingsAreNoDevices)
{
    run(kNode, [] { EXPECT_EQ(cuInit(0), CUDA_ERROR_NO_DEVICE); },
        {{"CUDASIM_GPUS", "3"}});
    run(kNode, [] { EXPECT_EQ(cuInit(0), CUDA_ERROR_NO_DEVICE); },
        {{"CUDASIM_FAULTS", "frob"}});
    run("gpus many\n", [] { EXPECT_EQ(cuInit(0), CUDA_ERROR_NO_DEVICE); });
    run(kNode, [] { EXPECT_EQ(cuInit(0), CUDA_ERROR_NO_DEVICE); },
        {{"CUDASIM_TOPOLOGY", "/nowhere"}});
}

} // namespace
