/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* Time of one MPI_Alltoallv, or with --alltoall of one MPI_Alltoall. Balanced by
 * default. --skew S gives destination d a weight of (d+1)^-S; --hotspot F sends
 * the share F of all bytes to one hot rank, the last, and spreads the rest evenly
 * over all ranks, the hot one included. Neither changes the sum of what a rank
 * sends, but with --gpu no rank sends to itself: Open MPI copies that as memory of
 * the host.
 *
 * What must cross a network is computed from where the ranks run, so that the
 * result can be compared with what the wire can do. */

#include "common.h"
#include "memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const bench_options_t *options;
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

/* Bytes that rank `src` sends to rank `dst`. */
static int alltoallv_count(const bench_options_t *options, int ranks, int src,
                           int dst)
{
    double sum  = 0;
    double even = (1 - options->hotspot) * options->size;
    int i;

    if (options->gpu && (src == dst)) {
        return 0;
    }

    if (options->hotspot > 0) {
        return (int)(even + ((dst == ranks - 1) ?
                             options->hotspot * options->size * ranks : 0));
    }

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

    self->options = options;
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
        self->send_counts[i]   = alltoallv_count(options, self->ranks,
                                                 self->rank, i);
        self->send_offsets[i]  = (int)send_size;
        send_size             += self->send_counts[i];
        self->recv_counts[i]   = alltoallv_count(options, self->ranks, i,
                                                 self->rank);
        self->recv_offsets[i]  = (int)self->recv_size;
        self->recv_size       += self->recv_counts[i];
    }

    self->send_buffer = bench_data(send_size, 1);
    self->recv_buffer = bench_data(self->recv_size, 0);
}

static void alltoallv_cleanup(alltoallv_t *self)
{
    bench_data_free(self->recv_buffer);
    bench_data_free(self->send_buffer);
    free(self->recv_offsets);
    free(self->recv_counts);
    free(self->send_offsets);
    free(self->send_counts);
}

static void alltoallv_once(alltoallv_t *self)
{
    if (self->options->alltoall) {
        MPI_Alltoall(self->send_buffer, self->options->size, MPI_CHAR,
                     self->recv_buffer, self->options->size, MPI_CHAR,
                     MPI_COMM_WORLD);
        return;
    }

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
    bench_data_set(self->recv_buffer, 0, self->recv_size);

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

/* What one call moves. */
static void alltoallv_traffic(const bench_options_t *options,
                              bench_traffic_t *traffic)
{
    int src, dst;

    bench_traffic_init(traffic);
    for (src = 0; src < traffic->ranks; ++src) {
        for (dst = 0; dst < traffic->ranks; ++dst) {
            traffic->bytes[src * traffic->ranks + dst] =
                    alltoallv_count(options, traffic->ranks, src, dst);
        }
    }
}

/* One size: checks, warms up, measures and prints the result. */
static void alltoallv_measure(const bench_options_t *options)
{
    double elapsed, mean, crossing, busiest;
    bench_traffic_t traffic;
    alltoallv_t self;
    long count, warm;
    int i;

    alltoallv_init(&self, options);
    alltoallv_traffic(options, &traffic);
    bench_traffic_crossing(&traffic, &crossing, &busiest);

    for (i = 0; i < options->check; ++i) {
        alltoallv_checked(&self, i);
    }

    /* A call that takes as long as the warm-up is one. */
    elapsed = alltoallv_timed(&self, 1, &mean);
    warm    = bench_iterations(options->warmup - elapsed, elapsed, 0);
    if (warm > 0) {
        elapsed = alltoallv_timed(&self, warm, &mean) / warm;
    }
    count   = bench_iterations(options->time, elapsed, options->min_iters);
    elapsed = alltoallv_timed(&self, count, &mean);

    if (self.rank == 0) {
        printf(BENCH_RESULT_PREFIX
               "{\"program\": \"alltoallv\", \"size\": %zu, \"ranks\": %d,"
               " \"skew\": %g, \"hotspot\": %g, \"calls\": %ld,"
               " \"seconds\": %.9g,"
               " \"time_s\": %.9g, \"mean_time_s\": %.9g,"
               " \"crossing_bytes\": %.0f, \"busiest_bytes\": %.0f,"
               " \"bytes_per_s\": %.9g, \"payload_bytes\": %.0f,"
               " \"checked\": %d, \"phases\": [",
               options->size, self.ranks, options->skew, options->hotspot,
               count, elapsed, elapsed / count, mean / count, crossing, busiest,
               busiest * count / elapsed,
               crossing * (options->check + 1 + warm + count), options->check);
        bench_traffic_print(&traffic, "alltoallv");
        printf("]}\n");
    }

    bench_traffic_cleanup(&traffic);
    alltoallv_cleanup(&self);
}

int main(int argc, char **argv)
{
    bench_options_t options;
    int turn;

    MPI_Init(&argc, &argv);
    bench_options_parse(&options, argc, argv);
    for (turn = 0; bench_options_turn(&options, turn); ++turn) {
        alltoallv_measure(&options);
    }

    MPI_Finalize();
    return 0;
}
