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
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SLOTS = 4, MOST_SAMPLES = 200 };

static const double SECONDS = 0.2; /* for each figure, and three samples at least */

static void check(CUresult result, const char *what)
{
    const char *text = "unknown error";
    if (result != CUDA_SUCCESS) {
        cuGetErrorString(result, &text);
        fprintf(stderr, "gpu_copies: %s: %s\n", what, text);
        exit(1);
    }
}
#define CU(_call) check(_call, #_call)

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

struct place {
    CUdeviceptr gpu;
    char       *host;
    CUevent     event;
};

static CUstream stream;

static void begin(const struct place *place, int out, size_t size)
{
    if (out) {
        CU(cuMemcpyDtoHAsync(place->host, place->gpu, size, stream));
    } else {
        CU(cuMemcpyHtoDAsync(place->gpu, place->host, size, stream));
    }
    CU(cuEventRecord(place->event, stream));
}

static void await(const struct place *place)
{
    CUresult result;
    while ((result = cuEventQuery(place->event)) == CUDA_ERROR_NOT_READY) {
    }
    check(result, "copy");
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(const struct place *places, int out, size_t size)
{
    double submit[MOST_SAMPLES], alone[MOST_SAMPLES], start, since;
    size_t count = 0, copies = 0, i;
    for (since = now(); count < MOST_SAMPLES &&
                        (count < 3 || now() - since < SECONDS); ++count) {
        start = now();
        begin(&places[0], out, size);
        submit[count] = now() - start;
        await(&places[0]);
        alone[count] = now() - start;
    }
    qsort(submit, count, sizeof(*submit), by_value);
    qsort(alone, count, sizeof(*alone), by_value);

    for (i = 0; i < SLOTS; ++i) {
        begin(&places[i], out, size);
    }
    await(&places[0]); /* the time begins while all are busy */
    for (since = now(); copies < 3 * SLOTS || now() - since < SECONDS;
         ++copies) {
        begin(&places[copies % SLOTS], out, size);
        await(&places[(copies + 1) % SLOTS]);
    }
    start = now() - since;
    CU(cuStreamSynchronize(stream));
    printf("%-4s %9zu %9.1f %9.1f %11.1f\n", out ? "out" : "in", size,
           1e6 * submit[count / 2], 1e6 * alone[count / 2],
           1e-6 * (double)(copies * size) / start);
    fflush(stdout);
}

static void compare(const struct place *place, size_t size)
{
    size_t i;
    for (i = 0; i < size; ++i) {
        place->host[i] = (char)(i * 31 + (i >> 9));
    }
    begin(place, 0, size);
    await(place);
    memset(place->host, 0, size);
    begin(place, 1, size);
    await(place);
    for (i = 0; i < size; ++i) {
        if (place->host[i] != (char)(i * 31 + (i >> 9))) {
            fprintf(stderr, "gpu_copies: byte %zu of %zu is wrong\n", i, size);
            exit(1);
        }
    }
}

int main(int argc, char **argv)
{
    size_t       largest = argc > 1 ? strtoull(argv[1], NULL, 10) : 4194304;
    struct place places[SLOTS];
    CUcontext    context;
    CUdevice     device;
    int          out, i;
    size_t       size;

    if (largest < 4096 || largest > (size_t)1 << 30) {
        fprintf(stderr, "usage: gpu_copies [LARGEST]: 4096 to 1073741824\n");
        return 2;
    }
    CU(cuInit(0));
    CU(cuDeviceGet(&device, 0));
    CU(cuDevicePrimaryCtxRetain(&context, device));
    CU(cuCtxSetCurrent(context));
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (i = 0; i < SLOTS; ++i) {
        CU(cuMemAlloc(&places[i].gpu, largest));
        CU(cuEventCreate(&places[i].event, CU_EVENT_DISABLE_TIMING));
        if (posix_memalign((void **)&places[i].host, 4096, largest) != 0) {
            fprintf(stderr, "gpu_copies: no memory\n");
            return 1;
        }
        memset(places[i].host, 0, largest); /* its pages are there */
        CU(cuMemHostRegister(places[i].host, largest,
                             CU_MEMHOSTREGISTER_PORTABLE));
    }

    printf("#          bytes submit/us  alone/us   rate/MB/s\n");
    for (out = 1; out >= 0; --out) {
        for (size = 4096; size <= largest; size *= 4) {
            measure(places, out, size);
        }
    }
    compare(&places[0], largest);

    for (i = 0; i < SLOTS; ++i) {
        CU(cuMemHostUnregister(places[i].host));
        CU(cuMemFree(places[i].gpu));
        CU(cuEventDestroy(places[i].event));
        free(places[i].host);
    }
    CU(cuStreamDestroy(stream));
    CU(cuDevicePrimaryCtxRelease(device));
    return 0;
}
