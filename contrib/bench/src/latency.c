/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* Half the round-trip time between rank 0 and the last rank. Every round trip
 * is timed on its own: on a machine with more work than cores a mean says
 * more about the other work than about the transport, the median does not. */

#include "common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LATENCY_TAG = 1
};

typedef struct {
    const bench_options_t *options;
    int                   rank;
    int                   peer;
    char                  *send_buffer;
    char                  *recv_buffer;
} latency_t;

static void latency_round_trip(latency_t *latency)
{
    int size = (int)latency->options->size;

    if (latency->rank == 0) {
        MPI_Send(latency->send_buffer, size, MPI_CHAR, latency->peer,
                 LATENCY_TAG, MPI_COMM_WORLD);
        MPI_Recv(latency->recv_buffer, size, MPI_CHAR, latency->peer,
                 LATENCY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(latency->recv_buffer, size, MPI_CHAR, latency->peer,
                 LATENCY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(latency->send_buffer, size, MPI_CHAR, latency->peer,
                 LATENCY_TAG, MPI_COMM_WORLD);
    }
}

/* Seconds for `count` round trips; each one's goes to `samples` unless NULL. */
static double latency_timed(latency_t *latency, long count, double *samples)
{
    double begin = MPI_Wtime();
    double start = begin;
    double now   = begin;
    long i;

    for (i = 0; i < count; ++i) {
        latency_round_trip(latency);
        now = MPI_Wtime();
        if (samples != NULL) {
            samples[i] = now - start;
        }
        start = now;
    }

    return now - begin;
}

static void latency_checked(latency_t *latency, unsigned number)
{
    size_t size = latency->options->size;

    bench_pattern_fill(latency->send_buffer, size, latency->rank,
                       latency->peer, number);
    memset(latency->recv_buffer, 0, size);
    latency_round_trip(latency);
    bench_pattern_check(latency->recv_buffer, size, latency->peer,
                        latency->rank, number);
}

/* One size: checks, warms up, measures and prints the result. */
static void latency_measure(latency_t *latency)
{
    const bench_options_t *options = latency->options;
    double elapsed, *samples;
    long tries, warm, count, total;
    int i;

    latency->send_buffer = bench_buffer(options->size, 1);
    latency->recv_buffer = bench_buffer(options->size, 0);

    for (i = 0; i < options->check; ++i) {
        latency_checked(latency, i);
    }

    /* Of a long message one round trip tells enough, of a short one the first
     * tells nothing. */
    elapsed = latency_timed(latency, 1, NULL);
    tries   = bench_iterations(options->warmup / 2, elapsed, 1);
    elapsed = latency_timed(latency, tries, NULL) / tries;
    warm    = bench_iterations(options->warmup / 2, elapsed, 1);
    elapsed = latency_timed(latency, warm, NULL) / warm;
    count   = bench_iterations(options->time, elapsed, options->min_iters);
    samples = bench_buffer(count * sizeof(*samples), 0);
    elapsed = latency_timed(latency, count, samples);
    total   = options->check + 1 + tries + warm + count;

    if (latency->rank == 0) {
        bench_sort(samples, count);
        printf(BENCH_RESULT_PREFIX
               "{\"program\": \"latency\", \"size\": %zu,"
               " \"round_trips\": %ld, \"seconds\": %.9g,"
               " \"latency_s\": %.9g, \"mean_s\": %.9g, \"min_s\": %.9g,"
               " \"p99_s\": %.9g, \"payload_bytes\": %.0f,"
               " \"checked\": %d}\n",
               options->size, count, elapsed,
               bench_quantile(samples, count, 0.5) / 2, elapsed / count / 2,
               samples[0] / 2, bench_quantile(samples, count, 0.99) / 2,
               2.0 * total * options->size, options->check);
    }

    free(samples);
    free(latency->recv_buffer);
    free(latency->send_buffer);
}

int main(int argc, char **argv)
{
    bench_options_t options;
    latency_t latency;
    int ranks, turn;

    MPI_Init(&argc, &argv);
    bench_options_parse(&options, argc, argv);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &latency.rank);
    if (ranks != 2) {
        fprintf(stderr, "latency: needs 2 ranks\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }

    latency.options = &options;
    latency.peer    = 1 - latency.rank;
    for (turn = 0; bench_options_turn(&options, turn); ++turn) {
        latency_measure(&latency);
    }

    MPI_Finalize();
    return 0;
}
