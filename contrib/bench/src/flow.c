/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* A flow without gaps from rank i of the first half to rank i + n/2: as soon as
 * one of --window messages is through, the next follows. What is counted
 * arrives between two moments that --at, --warmup and --time set by the clock,
 * so that several jobs, and other programs, can be measured at the same time.
 * The flow goes on for a moment after that, so that nobody is measured alone. */

#include "common.h"
#include "memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Seconds that the flow goes on after the time counted. */
#define FLOW_TAIL 0.4

enum {
    FLOW_TAG_DATA = 1,
    FLOW_TAG_STOP = 2
};

typedef struct {
    const bench_options_t *options;
    int                   rank;
    int                   peer;
    int                   sends;
    char                  *buffer;    /* `window` messages */
    MPI_Request           *requests;
    double                from;       /* counted from here ... */
    double                to;         /* ... to here */
    double                counted;    /* bytes */
    double                all;
} flow_t;

static char *flow_message(flow_t *flow, int i)
{
    return flow->buffer + i * flow->options->size;
}

static void flow_post(flow_t *flow, int i, int stop)
{
    if (flow->sends) {
        MPI_Isend(flow_message(flow, i), stop ? 0 : flow->options->size,
                  MPI_CHAR, flow->peer, stop ? FLOW_TAG_STOP : FLOW_TAG_DATA,
                  MPI_COMM_WORLD, &flow->requests[i]);
    } else {
        MPI_Irecv(flow_message(flow, i), flow->options->size, MPI_CHAR,
                  flow->peer, MPI_ANY_TAG, MPI_COMM_WORLD,
                  &flow->requests[i]);
    }
}

/* One window whose data is verified. */
static void flow_checked(flow_t *flow, unsigned number)
{
    const bench_options_t *options = flow->options;
    int src                        = flow->sends ? flow->rank : flow->peer;
    int dst                        = flow->sends ? flow->peer : flow->rank;
    unsigned seq                   = number * options->window;
    int i;

    for (i = 0; i < options->window; ++i) {
        if (flow->sends) {
            bench_pattern_fill(flow_message(flow, i), options->size, src, dst,
                               seq + i);
        } else {
            bench_data_set(flow_message(flow, i), 0, options->size);
        }
    }
    for (i = 0; i < options->window; ++i) {
        flow_post(flow, i, 0);
    }
    MPI_Waitall(options->window, flow->requests, MPI_STATUSES_IGNORE);
    for (i = 0; !flow->sends && (i < options->window); ++i) {
        bench_pattern_check(flow_message(flow, i), options->size, src, dst,
                            seq + i);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Ends with as many empty messages as the receiver waits for. */
static void flow_send(flow_t *flow)
{
    int window = flow->options->window;
    int i;

    while (bench_clock() < flow->to + FLOW_TAIL) {
        MPI_Waitany(window, flow->requests, &i, MPI_STATUS_IGNORE);
        flow_post(flow, i, 0);
    }
    MPI_Waitall(window, flow->requests, MPI_STATUSES_IGNORE);
    for (i = 0; i < window; ++i) {
        flow_post(flow, i, 1);
    }
    MPI_Waitall(window, flow->requests, MPI_STATUSES_IGNORE);
}

static void flow_receive(flow_t *flow)
{
    int active = flow->options->window;
    MPI_Status status;
    double now;
    int i;

    while (active > 0) {
        MPI_Waitany(flow->options->window, flow->requests, &i, &status);
        if (status.MPI_TAG == FLOW_TAG_STOP) {
            active--;
            continue;
        }
        now        = bench_clock();
        flow->all += flow->options->size;
        if ((now >= flow->from) && (now <= flow->to)) {
            flow->counted += flow->options->size;
        }
        flow_post(flow, i, 0);
    }
}

static void flow_run(flow_t *flow)
{
    int i;

    for (i = 0; i < flow->options->window; ++i) {
        flow_post(flow, i, 0);
    }
    if (flow->sends) {
        flow_send(flow);
    } else {
        flow_receive(flow);
    }
}

int main(int argc, char **argv)
{
    bench_options_t options;
    bench_traffic_t traffic;
    double sums[2];
    flow_t flow;
    int ranks, i;

    MPI_Init(&argc, &argv);
    bench_options_parse(&options, argc, argv);
    memset(&flow, 0, sizeof(flow));
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &flow.rank);
    if (ranks % 2) {
        fprintf(stderr, "bench: flow: needs an even number of ranks\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }

    flow.options  = &options;
    flow.peer     = (flow.rank + ranks / 2) % ranks;
    flow.sends    = flow.rank < ranks / 2;
    flow.buffer   = bench_data(options.size * options.window, 1);
    flow.requests = bench_buffer(options.window * sizeof(*flow.requests), 0);
    for (i = 0; i < options.check; ++i) {
        flow_checked(&flow, i);
    }

    flow.from = bench_begin(&options, "flow") + options.warmup;
    flow.to   = flow.from + options.time;
    flow_run(&flow);

    sums[0] = flow.counted;
    sums[1] = flow.all;
    MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    bench_traffic_init(&traffic);
    for (i = 0; i < ranks / 2; ++i) {
        traffic.bytes[i * ranks + i + ranks / 2] = sums[0] / (ranks / 2);
    }
    if (flow.rank == 0) {
        printf(BENCH_RESULT_PREFIX
               "{\"program\": \"flow\", \"size\": %zu, \"window\": %d,"
               " \"pairs\": %d, \"from\": %.6f, \"to\": %.6f,"
               " \"seconds\": %.9g, \"bytes\": %.0f, \"bytes_per_s\": %.9g,"
               " \"payload_bytes\": %.0f, \"checked\": %d, \"phases\": [",
               options.size, options.window, ranks / 2, flow.from, flow.to,
               options.time, sums[0], sums[0] / options.time,
               sums[1] + (double)options.check * options.window *
                         options.size * (ranks / 2),
               options.check * options.window);
        bench_traffic_print(&traffic, "flow");
        printf("]}\n");
    }

    bench_traffic_cleanup(&traffic);
    free(flow.requests);
    bench_data_free(flow.buffer);
    MPI_Finalize();
    return 0;
}
