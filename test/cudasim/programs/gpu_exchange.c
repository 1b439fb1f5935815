/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
/*
 * gpu_exchange WHAT [UNIT]: an MPI program whose buffers are in GPU memory; rank R has
 * GPU R modulo the number of GPUs. All data is checked byte by byte. WHAT is
 *
 *   p2p         messages of many sizes, between GPUs and between GPU and host,
 *               expected and unexpected
 *   managed     the same with managed memory
 *   bcast       broadcast
 *   alltoallv   uneven all-to-all, multiples of UNIT bytes (40000), without a part
 *               for the rank itself
 *   own-part    the same with one
 *   reduce      sum over all ranks
 *   vector      a datatype with gaps
 *   put         one-sided: each rank writes into the next one's window
 */
#include <cuda_runtime.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks, failures;

static void cuda(cudaError_t error, const char *what)
{
    if (error != cudaSuccess) {
        fprintf(stderr, "rank %d: %s: %s\n", rank, what,
                cudaGetErrorString(error));
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}
#define CUDA(_call) cuda(_call, #_call)

enum place { GPU, HOST, MANAGED };

static void *allocate(enum place place, size_t size)
{
    void *memory = NULL;
    if (place == GPU) {
        CUDA(cudaMalloc(&memory, size));
    } else if (place == MANAGED) {
        CUDA(cudaMallocManaged(&memory, size, cudaMemAttachGlobal));
    } else {
        memory = malloc(size);
    }
    return memory;
}

static void release(enum place place, void *memory)
{
    if (place == HOST) {
        free(memory);
    } else {
        CUDA(cudaFree(memory));
    }
}

static unsigned char byte_of(size_t i, int seed)
{
    return (unsigned char)((i * 2654435761u + (unsigned)seed * 40503u) >> 13);
}

static void fill(void *memory, size_t size, int seed)
{
    unsigned char *bytes = malloc(size + 1);
    size_t         i;
    for (i = 0; i < size; ++i) {
        bytes[i] = byte_of(i, seed);
    }
    CUDA(cudaMemcpy(memory, bytes, size, cudaMemcpyDefault));
    free(bytes);
}

static void check(const char *what, const void *memory, size_t size, int seed)
{
    unsigned char *bytes = malloc(size + 1);
    size_t         i;
    CUDA(cudaMemcpy(bytes, memory, size, cudaMemcpyDefault));
    for (i = 0; i < size; ++i) {
        if (bytes[i] != byte_of(i, seed)) {
            fprintf(stderr, "rank %d: %s: byte %zu of %zu is wrong\n", rank,
                    what, i, size);
            ++failures;
            break;
        }
    }
    free(bytes);
}

static const size_t sizes[] = {0,     1,     8,      100,    1000,    4096,
                               8000,  20000, 100000, 500001, 1000000, 3000000};
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

/* Every rank with the next and the one before. */
static void ring(enum place from, enum place to, int late)
{
    int      next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
    unsigned i;
    for (i = 0; i < SIZES; ++i) {
        MPI_Request requests[2];
        char        what[80];
        void       *out = allocate(from, sizes[i] + 1);
        void       *in  = allocate(to, sizes[i] + 1);
        fill(out, sizes[i], rank);
        fill(in, sizes[i], -1);
        MPI_Isend(out, (int)sizes[i], MPI_BYTE, next, (int)i, MPI_COMM_WORLD,
                  &requests[0]);
        if (late) { /* so that it has arrived before it is asked for */
            MPI_Barrier(MPI_COMM_WORLD);
        }
        MPI_Irecv(in, (int)sizes[i], MPI_BYTE, before, (int)i, MPI_COMM_WORLD,
                  &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        snprintf(what, sizeof(what), "%zu bytes, memory %d to %d%s", sizes[i],
                 from, to, late ? ", unexpected" : "");
        check(what, in, sizes[i], before);
        release(from, out);
        release(to, in);
    }
}

static void p2p(enum place place)
{
    int late;
    for (late = 0; late < 2; ++late) {
        ring(place, place, late);
        ring(place, HOST, late);
        ring(HOST, place, late);
    }
}

static void bcast(void)
{
    unsigned i;
    for (i = 0; i < SIZES; ++i) {
        int   root   = (int)i % ranks;
        void *memory = allocate(GPU, sizes[i] + 1);
        fill(memory, sizes[i], rank);
        MPI_Bcast(memory, (int)sizes[i], MPI_BYTE, root, MPI_COMM_WORLD);
        check("bcast", memory, sizes[i], root);
        release(GPU, memory);
    }
}

/* Rank a sends (a + 2 b + 1) * unit bytes to b. */
static void alltoallv(int own_part, int unit)
{
    int   *counts = calloc(4 * (size_t)ranks, sizeof(int));
    int   *starts = counts + ranks, *in_counts = counts + 2 * ranks;
    int   *in_starts = counts + 3 * ranks, total = 0, in_total = 0, i;
    char  *out, *in;
    for (i = 0; i < ranks; ++i) {
        int none     = i == rank && !own_part;
        counts[i]    = none ? 0 : (rank + 2 * i + 1) * unit;
        in_counts[i] = none ? 0 : (i + 2 * rank + 1) * unit;
        starts[i]    = total;
        in_starts[i] = in_total;
        total += counts[i];
        in_total += in_counts[i];
    }
    out = allocate(GPU, (size_t)total + 1);
    in  = allocate(GPU, (size_t)in_total + 1);
    for (i = 0; i < ranks; ++i) {
        fill(out + starts[i], (size_t)counts[i], rank * 100 + i);
    }
    MPI_Alltoallv(out, counts, starts, MPI_BYTE, in, in_counts, in_starts,
                  MPI_BYTE, MPI_COMM_WORLD);
    for (i = 0; i < ranks; ++i) {
        check("alltoallv", in + in_starts[i], (size_t)in_counts[i],
              i * 100 + rank);
    }
    release(GPU, out);
    release(GPU, in);
    free(counts);
}

static void reduce(void)
{
    int   one = 1, sum = 0;
    void *in = allocate(GPU, sizeof(int)), *out = allocate(GPU, sizeof(int));
    CUDA(cudaMemcpy(in, &one, sizeof(one), cudaMemcpyDefault));
    MPI_Allreduce(in, out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CUDA(cudaMemcpy(&sum, out, sizeof(sum), cudaMemcpyDefault));
    failures += sum != ranks;
}

static void vector(void)
{
    MPI_Datatype type;
    void        *out = allocate(GPU, 200000), *in = allocate(GPU, 200000);
    MPI_Type_vector(1000, 100, 200, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    fill(out, 200000, rank);
    MPI_Sendrecv(out, 1, type, (rank + 1) % ranks, 0, in, 1, type,
                 (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    check("vector", in, 100, (rank + ranks - 1) % ranks);
    MPI_Type_free(&type);
}

static void put(void)
{
    enum { SIZE = 1000000 };
    MPI_Win win;
    int     before = (rank + ranks - 1) % ranks;
    void   *window = allocate(GPU, SIZE), *out = allocate(GPU, SIZE);
    fill(window, SIZE, -1);
    fill(out, SIZE, rank);
    MPI_Win_create(window, SIZE, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    MPI_Put(out, SIZE, MPI_BYTE, (rank + 1) % ranks, 0, SIZE, MPI_BYTE, win);
    MPI_Win_fence(0, win);
    check("put", window, SIZE, before);
    MPI_Win_free(&win);
    release(GPU, window);
    release(GPU, out);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int         unit = argc > 2 ? atoi(argv[2]) : 40000;
    int         gpus = 0, all = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    CUDA(cudaGetDeviceCount(&gpus));
    CUDA(cudaSetDevice(rank % gpus));
    if (argc > 3 || unit < 1 || unit > 4000000) {
        fprintf(stderr, "usage: gpu_exchange WHAT [UNIT], 1 to 4000000\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (strcmp(what, "p2p") == 0) {
        p2p(GPU);
    } else if (strcmp(what, "managed") == 0) {
        p2p(MANAGED);
    } else if (strcmp(what, "bcast") == 0) {
        bcast();
    } else if (strcmp(what, "alltoallv") == 0) {
        alltoallv(0, unit);
    } else if (strcmp(what, "own-part") == 0) {
        alltoallv(1, unit);
    } else if (strcmp(what, "reduce") == 0) {
        reduce();
    } else if (strcmp(what, "vector") == 0) {
        vector();
    } else if (strcmp(what, "put") == 0) {
        put();
    } else {
        fprintf(stderr, "gpu_exchange: unknown '%s'\n", what);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Reduce(&failures, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0 && all == 0) {
        printf("%s: good\n", what);
    }
    MPI_Finalize();
    return failures != 0;
}
