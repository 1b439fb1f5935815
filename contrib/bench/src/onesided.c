/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* Bandwidth of MPI windows between pairs of ranks: rank i of the first half
 * puts to rank i + n/2, `window` operations at a time, each window ended by a
 * flush. With --get it reads instead. */

#include "common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const bench_options_t *options;
    int                   rank;
    int                   peer;
    int                   active;  /* of the half that puts or gets */
    char                  *local;  /* `window` blocks each */
    char                  *exposed;
    MPI_Win               win;
} onesided_t;

static void onesided_window(void *arg)
{
    onesided_t *self               = arg;
    const bench_options_t *options = self->options;
    MPI_Aint offset;
    int i;

    if (!self->active) {
        return;
    }
    for (i = 0; i < options->window; ++i) {
        offset = (MPI_Aint)i * options->size;
        if (options->get) {
            MPI_Get(self->local + offset, options->size, MPI_CHAR, self->peer,
                    offset, options->size, MPI_CHAR, self->win);
        } else {
            MPI_Put(self->local + offset, options->size, MPI_CHAR, self->peer,
                    offset, options->size, MPI_CHAR, self->win);
        }
    }
    MPI_Win_flush(self->peer, self->win);
}

static void onesided_checked_window(onesided_t *self, unsigned number)
{
    const bench_options_t *options = self->options;
    int active                     = self->active ? self->rank : self->peer;
    int passive                    = self->active ? self->peer : self->rank;
    int src                        = options->get ? passive : active;
    int dst                        = options->get ? active : passive;
    char *filled                   = options->get ? self->exposed : self->local;
    char *checked                  = options->get ? self->local : self->exposed;
    int i;

    for (i = 0; i < options->window; ++i) {
        if (self->rank == src) {
            bench_pattern_fill(filled + i * options->size, options->size, src,
                               dst, number * options->window + i);
        } else {
            memset(checked + i * options->size, 0, options->size);
        }
    }
    MPI_Win_sync(self->win);
    MPI_Barrier(MPI_COMM_WORLD);
    onesided_window(self);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_sync(self->win);
    for (i = 0; (self->rank == dst) && (i < options->window); ++i) {
        bench_pattern_check(checked + i * options->size, options->size, src,
                            dst, number * options->window + i);
    }
}

int main(int argc, char **argv)
{
    bench_options_t options;
    onesided_t self;
    double elapsed, operations;
    long windows, total;
    int ranks, i;

    MPI_Init(&argc, &argv);
    bench_options_parse(&options, argc, argv);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &self.rank);
    if (ranks % 2) {
        fprintf(stderr, "onesided: needs an even number of ranks\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }

    self.options = &options;
    self.peer    = (self.rank + ranks / 2) % ranks;
    self.active  = self.rank < ranks / 2;
    self.local   = bench_buffer(options.size * options.window, 1);
    self.exposed = bench_buffer(options.size * options.window, 0);
    MPI_Win_create(self.exposed, (MPI_Aint)options.size * options.window, 1,
                   MPI_INFO_NULL, MPI_COMM_WORLD, &self.win);
    MPI_Win_lock_all(0, self.win);

    for (i = 0; i < options.check; ++i) {
        onesided_checked_window(&self, i);
    }
    total = options.check + 1;

    /* What the first window pays for once is not timed. */
    bench_repeat(onesided_window, &self, 1);
    elapsed = bench_measure(&options, onesided_window, &self, &windows,
                            &total);

    if (self.rank == 0) {
        operations = (double)windows * options.window * (ranks / 2);
        printf(BENCH_RESULT_PREFIX
               "{\"program\": \"onesided\", \"size\": %zu, \"window\": %d,"
               " \"get\": %s, \"pairs\": %d, \"seconds\": %.9g,"
               " \"bytes_per_s\": %.9g, \"payload_bytes\": %.0f,"
               " \"checked\": %d}\n",
               options.size, options.window, options.get ? "true" : "false",
               ranks / 2, elapsed, operations * options.size / elapsed,
               (double)total * options.window * options.size * (ranks / 2),
               options.check * options.window);
    }

    MPI_Win_unlock_all(self.win);
    MPI_Win_free(&self.win);
    free(self.exposed);
    free(self.local);
    MPI_Finalize();
    return 0;
}
