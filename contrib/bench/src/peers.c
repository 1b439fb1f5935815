/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* What many peers cost: every rank sends --size bytes to every other, and then
 * tells how much its memory has grown since MPI_Init, per peer, and how many
 * queue pairs there are in the kernel, per rank. */

#include "common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of this process that are in memory and not a file's; 0 if unknown. */
static double peers_memory(void)
{
    double kb  = 0;
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];

    while ((file != NULL) && (fgets(line, sizeof(line), file) != NULL)) {
        if (sscanf(line, "RssAnon: %lf kB", &kb) == 1) {
            break;
        }
    }

    if (file != NULL) {
        fclose(file);
    }
    return kb * 1024;
}

/* Queue pairs of all RDMA devices that this kernel has; -1 if it does not say
 * (or there is no tool to ask it). */
static long peers_queue_pairs(void)
{
    long count = -1, one;
    FILE *pipe = popen("rdma resource show 2>/dev/null", "r");
    char line[512];
    char *at;

    while ((pipe != NULL) && (fgets(line, sizeof(line), pipe) != NULL)) {
        at = strstr(line, " qp ");
        if ((at != NULL) && (sscanf(at, " qp %ld", &one) == 1)) {
            count = ((count < 0) ? 0 : count) + one;
        }
    }

    if (pipe != NULL) {
        pclose(pipe);
    }
    return count;
}

/* Sends to and receives from every other rank, in an order that loads all. */
static void peers_exchange(const bench_options_t *options, int rank, int ranks,
                           char *out, char *in, unsigned round)
{
    int step, to, from;

    for (step = 1; step < ranks; ++step) {
        to   = (rank + step) % ranks;
        from = (rank + ranks - step) % ranks;
        bench_pattern_fill(out, options->size, rank, to, round);
        MPI_Sendrecv(out, options->size, MPI_CHAR, to, 0, in, options->size,
                     MPI_CHAR, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        bench_pattern_check(in, options->size, from, rank, round);
    }
}

int main(int argc, char **argv)
{
    bench_options_t options;
    double before, grown, start, elapsed;
    long queue_pairs = -1;
    char *out, *in;
    int rank, ranks, tries;

    MPI_Init(&argc, &argv);
    bench_options_parse(&options, argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks < 2) {
        fprintf(stderr, "peers: needs two ranks or more\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    out = bench_buffer(options.size, 1);
    in  = bench_buffer(options.size, 0);

    before = peers_memory();
    start  = MPI_Wtime();
    peers_exchange(&options, rank, ranks, out, in, 0);
    elapsed = MPI_Wtime() - start;
    MPI_Barrier(MPI_COMM_WORLD);
    grown = peers_memory() - before;
    MPI_Allreduce(MPI_IN_PLACE, &grown, 1, MPI_DOUBLE, MPI_SUM,
                  MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &elapsed, 1, MPI_DOUBLE, MPI_MAX,
                  MPI_COMM_WORLD);

    if (rank == 0) {
        /* With ten thousand of them the kernel's answer fails now and then. */
        for (tries = 0; (queue_pairs < 0) && (tries < 5); ++tries) {
            queue_pairs = peers_queue_pairs();
        }
        printf(BENCH_RESULT_PREFIX
               "{\"program\": \"peers\", \"size\": %zu, \"ranks\": %d,"
               " \"bytes_per_peer\": %.9g, \"qps_per_rank\": %.9g,"
               " \"exchange_s\": %.9g, \"payload_bytes\": %.0f,"
               " \"checked\": %d}\n",
               options.size, ranks, grown / ranks / (ranks - 1),
               (double)queue_pairs / ranks, elapsed,
               (double)options.size * ranks * (ranks / 2), ranks - 1);
    }
    MPI_Barrier(MPI_COMM_WORLD); /* they stay until they are counted */

    free(in);
    free(out);
    MPI_Finalize();
    return 0;
}
