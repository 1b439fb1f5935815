/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* Memory that messages are in: of the host, or of a GPU, which the CPU cannot
 * read. */

#ifndef FUSELINK_BENCH_MEMORY_H_
#define FUSELINK_BENCH_MEMORY_H_

#include <stddef.h>

/* From now on it is memory of a GPU: of that with the rank's number on its host.
 * Ends the job if there is none. */
void bench_memory_use_gpu(void);

int bench_memory_is_gpu(void);

/* With every byte set to `fill`; never NULL. */
void *bench_data(size_t size, int fill);

void bench_data_free(void *data);

void bench_data_set(void *data, int fill, size_t size);

/* Between it and memory of the host. */
void bench_data_write(void *data, const void *host, size_t size);

void bench_data_read(void *host, const void *data, size_t size);

#endif
