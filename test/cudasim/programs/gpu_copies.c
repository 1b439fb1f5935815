/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
/*
 * gpu_copies [LARGEST]: what copies between pinned memory of the host and a GPU cost,
 * as UCX's cuda_copy makes them, by their size, up to LARGEST bytes (4194304). For
 * each size and direction, medians:
 *
 *   submit   us that the calls take which begin a copy and ask for its end
 *   alone    us from the first of these calls until the copy's end is seen
 *   rate     MB/s with four copies under way
 *
 * The bytes are compared at the end. What UCX_FUSELINK_GPU_CHUNK should be on a
 * machine is read off this table: the smallest size with nearly the full rate.
 */
#include "copy_times.h"

static CUdeviceptr gpu[SLOTS];
static char       *host[SLOTS];

static void copy_out(int slot, size_t size)
{
    CU(cuMemcpyDtoHAsync(host[slot], gpu[slot], size, stream));
}

static void copy_in(int slot, size_t size)
{
    CU(cuMemcpyHtoDAsync(gpu[slot], host[slot], size, stream));
}

static void compare_both_ways(size_t size)
{
    size_t i;
    for (i = 0; i < size; ++i) {
        host[0][i] = byte_at(i);
    }
    begin(copy_in, 0, size);
    await(0);
    for (i = 0; i < size; ++i) {
        host[0][i] = 0;
    }
    begin(copy_out, 0, size);
    await(0);
    compare(host[0], size);
}

int main(int argc, char **argv)
{
    size_t   largest = argc > 1 ? strtoull(argv[1], NULL, 10) : 4194304, size;
    CUdevice device;
    int      i;

    if (largest < 4096 || largest > (size_t)1 << 30) {
        fprintf(stderr, "usage: gpu_copies [LARGEST]: 4096 to 1073741824\n");
        return 2;
    }
    program = "gpu_copies";
    device  = enter_gpu();
    for (i = 0; i < SLOTS; ++i) {
        CU(cuMemAlloc(&gpu[i], largest));
        host[i] = host_memory(largest);
        CU(cuMemHostRegister(host[i], largest, CU_MEMHOSTREGISTER_PORTABLE));
    }

    show_heading();
    for (size = 4096; size <= largest; size *= 4) {
        measure("out", copy_out, size);
    }
    for (size = 4096; size <= largest; size *= 4) {
        measure("in", copy_in, size);
    }
    compare_both_ways(largest);

    for (i = 0; i < SLOTS; ++i) {
        CU(cuMemHostUnregister(host[i]));
        CU(cuMemFree(gpu[i]));
        free(host[i]);
    }
    leave_gpu(device);
    return 0;
}
