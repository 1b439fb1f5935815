/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
/*
 * gpu_memory [LARGEST]: what a relay does with memory of a GPU, by its driver, with
 * up to LARGEST bytes (4194304). Two processes use the first GPU. It prints
 *
 *   - whether a NIC's driver could be given the memory: as a file (dmabuf), or by
 *     a module of the kernel (nvidia-peermem);
 *   - what it costs to pin memory of the host, and to let it go;
 *   - what it costs to open memory of another process, and to close it;
 *   - what copies into that memory cost, by their size, as gpu_copies prints it;
 *   - whether memory that is freed comes back while another process has it open.
 *
 * The bytes are compared, by the process that owns them.
 */
#define _GNU_SOURCE
#include "copy_times.h"

#include <dlfcn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PINS = 8 };

static void tell(int peer, const void *what, size_t size)
{
    if (write(peer, what, size) != (ssize_t)size) {
        fail("the other process is gone");
    }
}

static void hear(int peer, void *what, size_t size)
{
    if (recv(peer, what, size, MSG_WAITALL) != (ssize_t)size) {
        fail("the other process is gone");
    }
}

static size_t memory_left(void)
{
    size_t left, total;
    CU(cuMemGetInfo(&left, &total));
    return left;
}

/* What the memory's owner does. The memory whose freeing is watched is large, so
 * that other processes on the GPU do not matter, and that it is not of an arena. */
static void own(int client, size_t size)
{
    size_t         watched = 16 * size, before, freed, closed;
    CUipcMemHandle offer;
    CUdeviceptr    memory;
    CUdevice       device;
    char           word, *copy = host_memory(size);

    program = "gpu_memory: owner";
    device  = enter_gpu();
    CU(cuMemAlloc(&memory, size));
    CU(cuMemsetD8(memory, 0, size));
    CU(cuIpcGetMemHandle(&offer, memory));
    CU(cuCtxSynchronize());
    tell(client, &offer, sizeof(offer));
    hear(client, &word, 1); /* has copied */
    CU(cuMemcpyDtoH(copy, memory, size));
    compare(copy, size);
    free(copy);
    CU(cuMemFree(memory));

    CU(cuMemAlloc(&memory, watched));
    CU(cuIpcGetMemHandle(&offer, memory));
    tell(client, &offer, sizeof(offer));
    hear(client, &word, 1); /* has opened */
    before = memory_left();
    CU(cuMemFree(memory));
    freed = memory_left();
    tell(client, &word, 1);
    hear(client, &word, 1); /* has closed */
    closed = memory_left();
    printf("# %zu bytes that are freed while another process has them open: "
           "%zd come back at once, %zd when it closes them\n",
           watched, (ssize_t)(freed - before), (ssize_t)(closed - before));
    fflush(stdout);
    tell(client, &word, 1);
    leave_gpu(device);
}

static int has(CUdevice_attribute attribute)
{
    int      value = 0;
    CUdevice device;
    return cuCtxGetDevice(&device) == CUDA_SUCCESS &&
           cuDeviceGetAttribute(&value, attribute, device) == CUDA_SUCCESS &&
           value != 0;
}

static void show_ways_of_nics(CUdeviceptr memory, size_t size)
{
    /* The emulated driver, which this is linked with, has no such function. */
    CUresult (*get_handle)(void *, CUdeviceptr, size_t,
                           CUmemRangeHandleType, unsigned long long);
    const char *file = "no";
    int         fd   = -1;

    *(void **)&get_handle = dlsym(RTLD_DEFAULT, "cuMemGetHandleForAddressRange");
    if (has(CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED)) {
        file = "yes, but no file comes of it";
        if (get_handle != NULL &&
            get_handle(&fd, memory, size, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD,
                       0) == CUDA_SUCCESS) {
            file = "yes, and a file comes of it";
            close(fd);
        }
    }
    printf("# memory of this GPU as a dmabuf: %s\n", file);
    printf("# NICs may read and write this GPU's memory: %s; nvidia-peermem: "
           "%s\n",
           has(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED) ? "yes" : "no",
           access("/sys/module/nvidia_peermem", F_OK) == 0 ? "there"
                                                           : "not there");
}

static void show_pinning(size_t size)
{
    double start, pin = 0, let = 0;
    char  *memory;
    int    i;
    for (i = 0; i < PINS; ++i) {
        memory = host_memory(size);
        start  = now();
        CU(cuMemHostRegister(memory, size, CU_MEMHOSTREGISTER_PORTABLE));
        pin += now() - start;
        start = now();
        CU(cuMemHostUnregister(memory));
        let += now() - start;
        free(memory);
    }
    printf("# to pin %zu bytes of the host: %.1f us, to let go: %.1f us\n", size,
           1e6 * pin / PINS, 1e6 * let / PINS);
}

static CUdeviceptr mine, theirs;

static void copy_to_peer(int slot, size_t size)
{
    (void)slot; /* all write the same */
    CU(cuMemcpyDtoDAsync(theirs, mine, size, stream));
}

static void use(int owner, size_t largest)
{
    CUipcMemHandle offer;
    CUdevice       device = enter_gpu();
    double         start, opened, closed;
    size_t         size, i;
    char           word = 0, *bytes = host_memory(largest);

    for (i = 0; i < largest; ++i) {
        bytes[i] = byte_at(i);
    }
    CU(cuMemAlloc(&mine, largest));
    CU(cuMemcpyHtoD(mine, bytes, largest));
    show_ways_of_nics(mine, largest);
    show_pinning(largest);

    hear(owner, &offer, sizeof(offer));
    start = now();
    CU(cuIpcOpenMemHandle(&theirs, offer,
                          CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    opened = now() - start;
    show_heading();
    for (size = 4096; size <= largest; size *= 4) {
        measure("peer", copy_to_peer, size);
    }
    begin(copy_to_peer, 0, largest);
    await(0);
    start = now();
    CU(cuIpcCloseMemHandle(theirs));
    closed = now() - start;
    printf("# to open %zu bytes of another process: %.1f us, to close: %.1f us\n",
           largest, 1e6 * opened, 1e6 * closed);
    fflush(stdout);
    tell(owner, &word, 1);

    hear(owner, &offer, sizeof(offer));
    CU(cuIpcOpenMemHandle(&theirs, offer,
                          CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    tell(owner, &word, 1);
    hear(owner, &word, 1); /* has freed */
    CU(cuIpcCloseMemHandle(theirs));
    tell(owner, &word, 1);
    hear(owner, &word, 1); /* has printed */
    CU(cuMemFree(mine));
    free(bytes);
    leave_gpu(device);
}

int main(int argc, char **argv)
{
    size_t largest = argc > 1 ? strtoull(argv[1], NULL, 10) : 4194304;
    int    ends[2], status;
    pid_t  child;

    if (largest < 4096 || largest > (size_t)1 << 24) {
        fprintf(stderr, "usage: gpu_memory [LARGEST]: 4096 to 16777216\n");
        return 2;
    }
    program = "gpu_memory: client";
    /* Before CUDA begins, which a child could not go on with. */
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0 || (child = fork()) < 0) {
        fail("no second process");
    }
    close(ends[child != 0]);
    if (child == 0) {
        own(ends[1], largest);
        return 0;
    }
    use(ends[0], largest);
    if (waitpid(child, &status, 0) != child || status != 0) {
        fail("the owner failed");
    }
    return 0;
}
