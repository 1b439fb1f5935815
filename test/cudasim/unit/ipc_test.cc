/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include <csignal>
#include <cstring>
#include <dirent.h>
#include <set>
#include <sys/shm.h>

#include "sim/clock.h"
#include "unit/gpu.h"
#include "unit/process.h"

using namespace cudasim_test;

namespace {

const std::string kNode = "gpus 2\nmemory 64MiB\nnvlink 0 1 none\npeers nvlink\n";
constexpr size_t  kSize = 300000;

struct Exported {
    CUipcMemHandle handle;
    CUdeviceptr    memory;
};

/* Allocates on GPU 0, fills, exports, and stays until told. */
void export_memory(Channel &channel)
{
    use(0);
    gpu_memory(12345); /* so that it does not begin the arena */
    Exported exported{{}, gpu_memory(kSize)};
    auto     bytes = pattern(kSize, 1);
    CU(cuMemcpyHtoD(exported.memory, bytes.data(), kSize));
    CU(cuIpcGetMemHandle(&exported.handle, exported.memory));
    channel.send(exported);
    channel.receive<char>();
    EXPECT_EQ(read_back(exported.memory, kSize), pattern(kSize, 2));
}

std::set<std::string> files_of_shared_memory()
{
    std::set<std::string> names;
    DIR                  *folder = opendir("/dev/shm");
    while (dirent *entry = readdir(folder)) {
        names.insert(entry->d_name);
    }
    closedir(folder);
    return names;
}

/* Segments that have no name any more and nobody attached. */
int abandoned_segments()
{
    int      count = 0;
    shm_info info;
    int      last = shmctl(0, SHM_INFO, reinterpret_cast<shmid_ds *>(&info));
    for (int i = 0; i <= last; ++i) {
        shmid_ds state;
        count += shmctl(i, SHM_STAT, &state) >= 0 && state.shm_nattch == 0;
    }
    return count;
}

TEST(Ipc, AnotherProcessReadsAndWritesIt)
{
    Process owner(kNode, export_memory);
    auto    exported = owner.channel().receive<Exported>();
    run(kNode, [&] {
        use(1);
        CUdeviceptr mapped = 0, again = 0, base = 0;
        size_t      size = 0;
        CU(cuIpcOpenMemHandle(&mapped, exported.handle,
                              CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
        EXPECT_EQ(read_back(mapped, kSize), pattern(kSize, 1));
        CU(cuMemGetAddressRange(&base, &size, mapped + 1));
        EXPECT_EQ(base, mapped);
        EXPECT_EQ(size, kSize);
        CU(cuIpcOpenMemHandle(&again, exported.handle,
                              CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
        EXPECT_EQ(again, mapped);
        CU(cuIpcCloseMemHandle(mapped));
        auto bytes = pattern(kSize, 2);
        CU(cuMemcpyHtoD(mapped, bytes.data(), kSize)); /* open once more */
        CU(cuIpcCloseMemHandle(mapped));
        EXPECT_EQ(cuIpcCloseMemHandle(mapped), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(cuMemcpyHtoD(mapped, bytes.data(), kSize),
                  CUDA_ERROR_INVALID_VALUE);
    });
    owner.channel().send('e');
    EXPECT_TRUE(owner.good());
}

TEST(Ipc, MappedMemoryIsNotForTheCpuEither)
{
    Process owner(kNode, export_memory);
    auto    exported = owner.channel().receive<Exported>();
    Process user(kNode, [&](Channel &channel) {
        signal(SIGSEGV, SIG_DFL);
        use(0);
        CUdeviceptr mapped = 0;
        CU(cuIpcOpenMemHandle(&mapped, exported.handle,
                              CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
        channel.send('m');
        *reinterpret_cast<volatile char *>(mapped) = 1;
    });
    EXPECT_EQ(user.channel().receive<char>(), 'm');
    EXPECT_EQ(user.signal(), SIGSEGV);
}

TEST(Ipc, WrongHandlesAreRefused)
{
    Process owner(kNode, export_memory);
    auto    exported = owner.channel().receive<Exported>();
    run(kNode, [&] {
        use(0);
        CUipcMemHandle handle{};
        CUdeviceptr    memory = gpu_memory(100), mapped = 0;
        EXPECT_EQ(cuIpcOpenMemHandle(&mapped, handle, 1),
                  CUDA_ERROR_INVALID_VALUE);
        CU(cuIpcGetMemHandle(&handle, memory));
        EXPECT_EQ(cuIpcOpenMemHandle(&mapped, handle, 1),
                  CUDA_ERROR_INVALID_CONTEXT); /* its own */
        EXPECT_EQ(cuIpcGetMemHandle(&handle, 4096), CUDA_ERROR_INVALID_VALUE);
    });
    run(kNode, [&] {
        use(0);
        /* Each part of a handle changed: another host, process, place, ... */
        for (size_t i = 0; i < sizeof(CUipcMemHandle); ++i) {
            CUipcMemHandle handle = exported.handle;
            CUdeviceptr    mapped = 0;
            handle.reserved[i] = static_cast<char>(handle.reserved[i] ^ 0x41);
            if (cuIpcOpenMemHandle(&mapped, handle, 1) == CUDA_SUCCESS) {
                read_back(mapped, 1); /* what does open can be used */
                CU(cuIpcCloseMemHandle(mapped));
            }
        }
        CUipcMemHandle elsewhere = exported.handle;
        CUdeviceptr    mapped    = 0;
        elsewhere.reserved[8]    = static_cast<char>(~elsewhere.reserved[8]);
        EXPECT_EQ(cuIpcOpenMemHandle(&mapped, elsewhere, 1),
                  CUDA_ERROR_INVALID_VALUE);
    });
    owner.kill_9();
    EXPECT_EQ(owner.signal(), SIGKILL);
    run(kNode, [&] {
        use(0);
        CUdeviceptr mapped = 0;
        EXPECT_EQ(cuIpcOpenMemHandle(&mapped, exported.handle, 1),
                  CUDA_ERROR_INVALID_VALUE);
    });
}

TEST(Ipc, WithoutPeerAccessNoMapping)
{
    Process owner(kNode, export_memory);
    auto    exported = owner.channel().receive<Exported>();
    run(kNode, [&] {
        use(1);
        CUdeviceptr mapped = 0;
        EXPECT_EQ(cuIpcOpenMemHandle(&mapped, exported.handle, 1),
                  CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
        use(0); /* the same GPU */
        CU(cuIpcOpenMemHandle(&mapped, exported.handle, 1));
    }, {{"CUDASIM_FAULTS", "peer@0-1"}});
}

/* What the killed one had is there for who has it mapped, and else gone: its
 * memory is free again, and nothing stays behind. */
TEST(Ipc, NothingIsLeftOfAKilledProcess)
{
    auto files    = files_of_shared_memory();
    int  segments = abandoned_segments();
    {
        Process owner(kNode, [](Channel &channel) {
            use(0);
            Exported exported{{}, gpu_memory(40u << 20)};
            CU(cuMemsetD8(exported.memory, 1, 40u << 20));
            CU(cuIpcGetMemHandle(&exported.handle, exported.memory));
            channel.send(exported);
            channel.receive<char>();
        });
        auto    exported = owner.channel().receive<Exported>();
        Process user(kNode, [&](Channel &channel) {
            CUdeviceptr mapped = 0, memory = 0;
            use(0);
            CU(cuIpcOpenMemHandle(&mapped, exported.handle, 1));
            EXPECT_EQ(cuMemAlloc(&memory, 40u << 20), CUDA_ERROR_OUT_OF_MEMORY);
            channel.send('m');
            channel.receive<char>();
            EXPECT_EQ(read_back(mapped, 1000), std::vector<uint8_t>(1000, 1));
            CU(cuMemAlloc(&memory, 40u << 20));
        });
        user.channel().receive<char>();
        owner.kill_9();
        EXPECT_EQ(owner.signal(), SIGKILL);
        user.channel().send('k');
        EXPECT_TRUE(user.good());
    }
    EXPECT_EQ(files_of_shared_memory(), files);
    EXPECT_EQ(abandoned_segments(), segments);
}

/* Killed in mid-copy: the link is free at once. */
TEST(Ipc, KilledProcessLeavesTheLinkFree)
{
    const std::string slow = "gpus 1\nmemory 64MiB\npcie 1MB/s\n";
    Process           hog(slow, [](Channel &channel) {
        use(0);
        CUdeviceptr memory = gpu_memory(10000000);
        uint8_t    *host   = host_memory(10000000);
        CUstream    stream = nullptr;
        CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        CU(cuMemcpyHtoDAsync(memory, host, 10000000, stream)); /* 10 s */
        channel.send('c');
        channel.receive<char>();
    });
    hog.channel().receive<char>();
    hog.kill_9();
    hog.signal();
    run(slow, [] {
        use(0);
        CUdeviceptr memory = gpu_memory(10000);
        uint8_t    *host   = host_memory(10000);
        uint64_t    start  = cudasim::now_ns();
        CU(cuMemcpyHtoD(memory, host, 10000)); /* 10 ms */
        EXPECT_LT(cudasim::now_ns() - start, 1000000000u);
    });
}

/* With other devices visible a GPU has another number and is the same GPU. */
TEST(Ipc, OwnNumbersOfGpus)
{
    Process owner(kNode, export_memory);
    auto    exported = owner.channel().receive<Exported>();
    run(kNode, [&] {
        use(0); /* GPU 1; GPU 0 cannot be seen */
        CUdeviceptr mapped = 0;
        int         ordinal = -1;
        CU(cuIpcOpenMemHandle(&mapped, exported.handle, 1));
        CU(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                 mapped));
        EXPECT_EQ(ordinal, 0);
        EXPECT_EQ(read_back(mapped, kSize), pattern(kSize, 1));
    }, {{"CUDA_VISIBLE_DEVICES", "1"}});
}

} // namespace
