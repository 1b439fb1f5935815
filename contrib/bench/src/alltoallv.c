/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* Time of one MPI_Alltoallv. Balanced by default; --skew S gives destination
 * d a weight of (d+1)^-S, with the sum of what a rank sends unchanged.
 *
 * What must cross a network is computed from where the ranks run, so that the
 * result can be compared with what the wire can do. */

#include "common.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    int    rank;
    int    ranks;
    int    *send_counts;
    int    *send_offsets;
    int    *recv_counts;
    int    *recv_offsets;
    char   *send_buffer;
    char   *recv_buffer;
    size_t recv_size;
} alltoallv_t;

/* Bytes that any rank sends to rank `dst`: the same for all senders. */
static int alltoallv_count(const bench_options_t *options, int ranks, int dst)
{
    double sum = 0;
    int i;

    for (i = 0; i < ranks; ++i) {
        sum += pow(i + 1, -options->skew);
    }

    return (int)(options->size * ranks * pow(dst + 1, -options->skew) / sum);
}

static void alltoallv_init(alltoallv_t *self, const bench_options_t *options)
{
    size_t send_size = 0;
    size_t ints;
    int i;

    MPI_Comm_rank(MPI_COMM_WORLD, &self->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &self->ranks);
    /* Counts and displacements of MPI_Alltoallv are ints. */
    if ((double)options->size * self->ranks * self->ranks > 2e9) {
        fprintf(stderr, "alltoallv: --size %zu is too much for %d ranks\n",
                options->size, self->ranks);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }

    ints               = (size_t)self->ranks * sizeof(int);
    self->send_counts  = bench_buffer(ints, 0);
    self->send_offsets = bench_buffer(ints, 0);
    self->recv_counts  = bench_buffer(ints, 0);
    self->recv_offsets = bench_buffer(ints, 0);
    self->recv_size    = 0;
    for (i = 0; i < self->ranks; ++i) {
        self->send_counts[i]   = alltoallv_count(options, self->ranks, i);
        self->send_offsets[i]  = (int)send_size;
        send_size             += self->send_counts[i];
        self->recv_counts[i]   = alltoallv_count(options, self->ranks,
                                                 self->rank);
        self->recv_offsets[i]  = (int)self->recv_size;
        self->recv_size       += self->recv_counts[i];
    }

    self->send_buffer = bench_buffer(send_size, 1);
    self->recv_buffer = bench_buffer(self->recv_size, 0);
}

static void alltoallv_cleanup(alltoallv_t *self)
{
    free(self->recv_buffer);
    free(self->send_buffer);
    free(self->recv_offsets);
    free(self->recv_counts);
    free(self->send_offsets);
    free(self->send_counts);
}

static void alltoallv_once(alltoallv_t *self)
{
    MPI_Alltoallv(self->send_buffer, self->send_counts, self->send_offsets,
                  MPI_CHAR, self->recv_buffer, self->recv_counts,
                  self->recv_offsets, MPI_CHAR, MPI_COMM_WORLD);
}

static void alltoallv_checked(alltoallv_t *self, unsigned number)
{
    int i;

    for (i = 0; i < self->ranks; ++i) {
        bench_pattern_fill(self->send_buffer + self->send_offsets[i],
                           self->send_counts[i], self->rank, i, number);
    }
    memset(self->recv_buffer, 0, self->recv_size);

    alltoallv_once(self);

    for (i = 0; i < self->ranks; ++i) {
        bench_pattern_check(self->recv_buffer + self->recv_offsets[i],
                            self->recv_counts[i], i, self->rank, number);
    }
}

/* Seconds of `count` calls, of the slowest rank. A barrier before each call,
 * not timed, keeps one call's stragglers out of the next. */
static double alltoallv_timed(alltoallv_t *self, long count, double *mean)
{
    double start, sum = 0;
    int i;

    for (i = 0; i < count; ++i) {
        MPI_Barrier(MPI_COMM_WORLD);
        start = MPI_Wtime();
        alltoallv_once(self);
        sum += MPI_Wtime() - start;
    }

    MPI_Allreduce(&sum, mean, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    *mean /= self->ranks;
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return sum;
}

/* Of one call: bytes that cross the network in all, and of the busiest host
 * and direction. */
static void alltoallv_crossing(const bench_options_t *options, int ranks,
                               double *all, double *busiest)
{
    int hosts, host, src, dst;
    double out, in;
    int *index;

    index    = bench_host_index(&hosts);
    *all     = 0;
    *busiest = 0;
    for (host = 0; host < hosts; ++host) {
        out = 0;
        in  = 0;
        for (src = 0; src < ranks; ++src) {
            for (dst = 0; dst < ranks; ++dst) {
                if (index[src] == index[dst]) {
                    continue;
                }
                if (index[src] == host) {
                    out += alltoallv_count(options, ranks, dst);
                }
                if (index[dst] == host) {
                    in += alltoallv_count(options, ranks, dst);
                }
            }
        }
        *all     += out;
        *busiest  = fmax(*busiest, fmax(out, in));
    }

    free(index);
}

int main(int argc, char **argv)
{
    bench_options_t options;
    alltoallv_t self;
    double elapsed, mean, crossing, busiest;
    long count, warm;
    int i;

    MPI_Init(&argc, &argv);
    bench_options_parse(&options, argc, argv);
    alltoallv_init(&self, &options);
    alltoallv_crossing(&options, self.ranks, &crossing, &busiest);

    for (i = 0; i < options.check; ++i) {
        alltoallv_checked(&self, i);
    }

    alltoallv_timed(&self, 1, &mean);
    elapsed = alltoallv_timed(&self, 1, &mean);
    warm    = bench_iterations(options.warmup, elapsed, 1);
    elapsed = alltoallv_timed(&self, warm, &mean) / warm;
    count   = bench_iterations(options.time, elapsed, options.min_iters);
    elapsed = alltoallv_timed(&self, count, &mean);

    if (self.rank == 0) {
        printf(BENCH_RESULT_PREFIX
               "{\"program\": \"alltoallv\", \"size\": %zu, \"ranks\": %d,"
               " \"skew\": %g, \"calls\": %ld, \"seconds\": %.9g,"
               " \"time_s\": %.9g, \"mean_time_s\": %.9g,"
               " \"crossing_bytes\": %.0f, \"busiest_bytes\": %.0f,"
               " \"bytes_per_s\": %.9g, \"payload_bytes\": %.0f,"
               " \"checked\": %d}\n",
               options.size, self.ranks, options.skew, count, elapsed,
               elapsed / count, mean / count, crossing, busiest,
               busiest * count / elapsed,
               crossing * (options.check + 2 + warm + count), options.check);
    }

    alltoallv_cleanup(&self);
    MPI_Finalize();
    return 0;
}
