/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
/*
 * What copies of the first GPU cost: of gpu_copies and gpu_memory, to be included once
 * by each.
 */
#ifndef FUSELINK_CUDASIM_COPY_TIMES_H
#define FUSELINK_CUDASIM_COPY_TIMES_H

#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { SLOTS = 4, MOST_SAMPLES = 200 };

static const double SECONDS = 0.2; /* for each figure, and three samples at least */

static const char *program; /* for errors */
static CUstream    stream;
static CUevent     events[SLOTS];

static void check(CUresult result, const char *what)
{
    const char *text = "unknown error";
    if (result != CUDA_SUCCESS) {
        cuGetErrorString(result, &text);
        fprintf(stderr, "%s: %s: %s\n", program, what, text);
        exit(1);
    }
}
#define CU(_call) check(_call, #_call)

static void fail(const char *what)
{
    fprintf(stderr, "%s: %s\n", program, what);
    exit(1);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* The first GPU's, with a stream for copies. */
static CUdevice enter_gpu(void)
{
    CUcontext context;
    CUdevice  device;
    int       i;
    CU(cuInit(0));
    CU(cuDeviceGet(&device, 0));
    CU(cuDevicePrimaryCtxRetain(&context, device));
    CU(cuCtxSetCurrent(context));
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (i = 0; i < SLOTS; ++i) {
        CU(cuEventCreate(&events[i], CU_EVENT_DISABLE_TIMING));
    }
    return device;
}

static void leave_gpu(CUdevice device)
{
    int i;
    for (i = 0; i < SLOTS; ++i) {
        CU(cuEventDestroy(events[i]));
    }
    CU(cuStreamDestroy(stream));
    CU(cuDevicePrimaryCtxRelease(device));
}

/* Memory of the host of which all pages are there. */
static char *host_memory(size_t size)
{
    char  *memory;
    size_t i;
    if (posix_memalign((void **)&memory, 4096, size) != 0) {
        fail("no memory");
    }
    for (i = 0; i < size; ++i) {
        memory[i] = 0;
    }
    return memory;
}

/* Byte i of what is copied to be compared. */
static char byte_at(size_t i)
{
    return (char)(i * 31 + (i >> 9));
}

static void compare(const char *bytes, size_t size)
{
    size_t i;
    for (i = 0; i < size; ++i) {
        if (bytes[i] != byte_at(i)) {
            fprintf(stderr, "%s: byte %zu of %zu is wrong\n", program, i, size);
            exit(1);
        }
    }
}

/* A copy of so many bytes, which is begun on the stream. */
typedef void (*copy_fn)(int slot, size_t size);

static void begin(copy_fn copy, int slot, size_t size)
{
    copy(slot, size);
    CU(cuEventRecord(events[slot], stream));
}

static void await(int slot)
{
    CUresult result;
    while ((result = cuEventQuery(events[slot])) == CUDA_ERROR_NOT_READY) {
    }
    check(result, "copy");
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void show_heading(void)
{
    printf("#          bytes submit/us  alone/us   rate/MB/s\n");
}

/* Medians: us that the calls take which begin a copy and ask for its end, us from the
 * first of these calls until the copy's end is seen; MB/s with four under way. */
static void measure(const char *name, copy_fn copy, size_t size)
{
    double submit[MOST_SAMPLES], alone[MOST_SAMPLES], start, since;
    size_t count = 0, copies = 0;
    int    i;
    for (since = now(); count < MOST_SAMPLES &&
                        (count < 3 || now() - since < SECONDS); ++count) {
        start = now();
        begin(copy, 0, size);
        submit[count] = now() - start;
        await(0);
        alone[count] = now() - start;
    }
    qsort(submit, count, sizeof(*submit), by_value);
    qsort(alone, count, sizeof(*alone), by_value);

    for (i = 0; i < SLOTS; ++i) {
        begin(copy, i, size);
    }
    await(0); /* the time begins while all are busy */
    for (since = now(); copies < 3 * SLOTS || now() - since < SECONDS;
         ++copies) {
        begin(copy, (int)(copies % SLOTS), size);
        await((int)((copies + 1) % SLOTS));
    }
    start = now() - since;
    CU(cuStreamSynchronize(stream));
    printf("%-4s %9zu %9.1f %9.1f %11.1f\n", name, size,
           1e6 * submit[count / 2], 1e6 * alone[count / 2],
           1e-6 * (double)(copies * size) / start);
    fflush(stdout);
}

#endif
