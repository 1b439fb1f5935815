/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* Time of the communication of one mixture-of-experts layer: dispatch, in which
 * every rank sends the rows of its tokens to the ranks of the experts that they
 * are routed to, and combine, in which the rows come back the same way. Each is
 * one MPI_Alltoallv. Which tokens go where is in routing.h. */

#include "common.h"
#include "routing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    int rank;
    int ranks;
    int *counts;      /* [src * ranks + dst], rows */
    int *send_bytes;  /* of the dispatch; the combine is its reverse */
    int *send_offsets;
    int *recv_bytes;
    int *recv_offsets;
    int send_size;
    int recv_size;
    char *out;        /* rows to dispatch */
    char *in;         /* rows of others */
    char *back;       /* rows that came back */
} moe_t;

static void moe_init(moe_t *self, const bench_options_t *options)
{
    size_t ints;
    int i;

    MPI_Comm_rank(MPI_COMM_WORLD, &self->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &self->ranks);
    ints               = self->ranks * sizeof(int);
    self->counts       = bench_routing(options, self->ranks);
    self->send_bytes   = bench_buffer(ints, 0);
    self->send_offsets = bench_buffer(ints, 0);
    self->recv_bytes   = bench_buffer(ints, 0);
    self->recv_offsets = bench_buffer(ints, 0);
    self->send_size    = 0;
    self->recv_size    = 0;
    for (i = 0; i < self->ranks; ++i) {
        self->send_bytes[i] = self->counts[self->rank * self->ranks + i] *
                              (int)options->size;
        self->recv_bytes[i] = self->counts[i * self->ranks + self->rank] *
                              (int)options->size;
        self->send_offsets[i]  = self->send_size;
        self->recv_offsets[i]  = self->recv_size;
        self->send_size       += self->send_bytes[i];
        self->recv_size       += self->recv_bytes[i];
    }
    self->out  = bench_buffer(self->send_size, 1);
    self->in   = bench_buffer(self->recv_size, 0);
    self->back = bench_buffer(self->send_size, 0);
}

static void moe_cleanup(moe_t *self)
{
    free(self->back);
    free(self->in);
    free(self->out);
    free(self->recv_offsets);
    free(self->recv_bytes);
    free(self->send_offsets);
    free(self->send_bytes);
    free(self->counts);
}

static void moe_dispatch(moe_t *self)
{
    MPI_Alltoallv(self->out, self->send_bytes, self->send_offsets, MPI_CHAR,
                  self->in, self->recv_bytes, self->recv_offsets, MPI_CHAR,
                  MPI_COMM_WORLD);
}

static void moe_combine(moe_t *self)
{
    MPI_Alltoallv(self->in, self->recv_bytes, self->recv_offsets, MPI_CHAR,
                  self->back, self->send_bytes, self->send_offsets, MPI_CHAR,
                  MPI_COMM_WORLD);
}

/* The experts of this check answer a row with itself, so what comes back must
 * be what was sent. Every row has a pattern of its own. */
static void moe_checked(moe_t *self, const bench_options_t *options,
                        unsigned number)
{
    int i, row;

    for (i = 0; i < self->ranks; ++i) {
        for (row = 0; row < self->counts[self->rank * self->ranks + i];
             ++row) {
            bench_pattern_fill(self->out + self->send_offsets[i] +
                               row * options->size, options->size, self->rank,
                               i, number * options->tokens + row);
        }
    }
    memset(self->in, 0, self->recv_size);
    memset(self->back, 0, self->send_size);

    moe_dispatch(self);
    for (i = 0; i < self->ranks; ++i) {
        for (row = 0; row < self->counts[i * self->ranks + self->rank];
             ++row) {
            bench_pattern_check(self->in + self->recv_offsets[i] +
                                row * options->size, options->size, i,
                                self->rank, number * options->tokens + row);
        }
    }

    moe_combine(self);
    for (i = 0; i < self->ranks; ++i) {
        for (row = 0; row < self->counts[self->rank * self->ranks + i];
             ++row) {
            bench_pattern_check(self->back + self->send_offsets[i] +
                                row * options->size, options->size,
                                self->rank, i,
                                number * options->tokens + row);
        }
    }
}

/* Seconds of one call, of the slowest rank; all begin together. */
static double moe_timed(moe_t *self, void (*part)(moe_t *self))
{
    double elapsed, start;

    MPI_Barrier(MPI_COMM_WORLD);
    start = MPI_Wtime();
    part(self);
    elapsed = MPI_Wtime() - start;
    MPI_Allreduce(MPI_IN_PLACE, &elapsed, 1, MPI_DOUBLE, MPI_MAX,
                  MPI_COMM_WORLD);
    return elapsed;
}

static double moe_steps(moe_t *self, long count, double *dispatch)
{
    double combine = 0;
    long i;

    *dispatch = 0;
    for (i = 0; i < count; ++i) {
        *dispatch += moe_timed(self, moe_dispatch);
        combine   += moe_timed(self, moe_combine);
    }

    return *dispatch + combine;
}

int main(int argc, char **argv)
{
    double elapsed, dispatch, all, busiest;
    bench_traffic_t there, back;
    bench_options_t options;
    long count, warm;
    moe_t self;
    int i, src, dst;

    MPI_Init(&argc, &argv);
    bench_options_parse(&options, argc, argv);
    memset(&self, 0, sizeof(self));
    moe_init(&self, &options);
    bench_traffic_init(&there);
    bench_traffic_init(&back);
    for (src = 0; src < self.ranks; ++src) {
        for (dst = 0; dst < self.ranks; ++dst) {
            there.bytes[src * self.ranks + dst] =
                    (double)self.counts[src * self.ranks + dst] *
                    options.size;
            back.bytes[dst * self.ranks + src] =
                    there.bytes[src * self.ranks + dst];
        }
    }
    /* The combine is as busy as the dispatch, the other way round. */
    bench_traffic_crossing(&there, &all, &busiest);

    for (i = 0; i < options.check; ++i) {
        moe_checked(&self, &options, i);
    }
    /* A step that takes as long as the warm-up is one. */
    elapsed = moe_steps(&self, 1, &dispatch);
    warm    = bench_iterations(options.warmup - elapsed, elapsed, 0);
    if (warm > 0) {
        elapsed = moe_steps(&self, warm, &dispatch) / warm;
    }
    count   = bench_iterations(options.time, elapsed, options.min_iters);
    elapsed = moe_steps(&self, count, &dispatch);

    if (self.rank == 0) {
        printf(BENCH_RESULT_PREFIX
               "{\"program\": \"moe\", \"size\": %zu, \"tokens\": %d,"
               " \"experts\": %d, \"topk\": %d, \"ranks\": %d,"
               " \"skew\": %g, \"steps\": %ld, \"seconds\": %.9g,"
               " \"time_s\": %.9g, \"dispatch_s\": %.9g,"
               " \"combine_s\": %.9g, \"bytes_per_s\": %.9g,"
               " \"payload_bytes\": %.0f, \"checked\": %d, \"phases\": [",
               options.size, options.tokens, options.experts * self.ranks,
               options.topk, self.ranks, options.skew, count, elapsed,
               elapsed / count, dispatch / count,
               (elapsed - dispatch) / count, 2 * busiest * count / elapsed,
               2 * all * (options.check + 1 + warm + count), options.check);
        bench_traffic_print(&there, "dispatch");
        printf(", ");
        bench_traffic_print(&back, "combine");
        printf("]}\n");
    }

    bench_traffic_cleanup(&back);
    bench_traffic_cleanup(&there);
    moe_cleanup(&self);
    MPI_Finalize();
    return 0;
}
