/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

#include "memory.h"

#include "common.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of CUDA's runtime library, which is loaded when it is needed, so that all
 * else builds and runs without it. Results are 0 if well. */
static struct {
    int (*get_device_count)(int*);
    int (*set_device)(int);
    int (*alloc)(void**, size_t);
    int (*release)(void*);
    int (*set)(void*, int, size_t);
    int (*copy)(void*, const void*, size_t, int);
    const char *(*explain)(int);
    int is_used;
} cuda;

enum {
    COPY_TO_GPU   = 1,
    COPY_FROM_GPU = 2
};

static void memory_fail(const char *what, const char *why)
{
    fprintf(stderr, "bench: %s: %s\n", what, why);
    fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 2);
    exit(2);
}

static void memory_done(const char *what, int error)
{
    if (error != 0) {
        memory_fail(what, cuda.explain(error));
    }
}

static void *memory_find(void *library, const char *name)
{
    void *function = dlsym(library, name);

    if (function == NULL) {
        memory_fail(name, "not in CUDA's runtime library");
    }

    return function;
}

void bench_memory_use_gpu(void)
{
    const char *local    = getenv("OMPI_COMM_WORLD_LOCAL_RANK");
    static const char *const names[] = {"libcudart.so", "libcudart.so.13",
                                        "libcudart.so.12", "libcudart.so.11.0"};
    void *library = NULL;
    size_t i;
    int count;

    for (i = 0; (library == NULL) && (i < sizeof(names) / sizeof(*names));
         ++i) {
        library = dlopen(names[i], RTLD_NOW);
    }
    if (library == NULL) {
        memory_fail("--gpu", "CUDA's runtime library cannot be loaded");
    }

    *(void**)&cuda.get_device_count = memory_find(library,
                                                  "cudaGetDeviceCount");
    *(void**)&cuda.set_device       = memory_find(library, "cudaSetDevice");
    *(void**)&cuda.alloc            = memory_find(library, "cudaMalloc");
    *(void**)&cuda.release          = memory_find(library, "cudaFree");
    *(void**)&cuda.set              = memory_find(library, "cudaMemset");
    *(void**)&cuda.copy             = memory_find(library, "cudaMemcpy");
    *(void**)&cuda.explain          = memory_find(library,
                                                  "cudaGetErrorString");

    memory_done("number of GPUs", cuda.get_device_count(&count));
    if (count == 0) {
        memory_fail("--gpu", "there is none");
    }

    memory_done("use of a GPU",
                cuda.set_device((local == NULL) ? 0 : atoi(local) % count));
    cuda.is_used = 1;
}

int bench_memory_is_gpu(void)
{
    return cuda.is_used;
}

void *bench_data(size_t size, int fill)
{
    void *data;

    if (!cuda.is_used) {
        return bench_buffer(size, fill);
    }

    memory_done("memory of a GPU", cuda.alloc(&data, (size == 0) ? 1 : size));
    bench_data_set(data, fill, size);
    return data;
}

void bench_data_free(void *data)
{
    if (cuda.is_used) {
        cuda.release(data);
    } else {
        free(data);
    }
}

void bench_data_set(void *data, int fill, size_t size)
{
    if (cuda.is_used) {
        memory_done("memory of a GPU", cuda.set(data, fill, size));
    } else {
        memset(data, fill, size);
    }
}

void bench_data_write(void *data, const void *host, size_t size)
{
    if (cuda.is_used) {
        memory_done("copy to a GPU",
                    cuda.copy(data, host, size, COPY_TO_GPU));
    } else {
        memcpy(data, host, size);
    }
}

void bench_data_read(void *host, const void *data, size_t size)
{
    if (cuda.is_used) {
        memory_done("copy from a GPU",
                    cuda.copy(host, data, size, COPY_FROM_GPU));
    } else {
        memcpy(host, data, size);
    }
}
