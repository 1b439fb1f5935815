/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* Bandwidth and message rate between pairs of ranks: rank i of the first half
 * sends to rank i + n/2, `window` messages at a time, each window ended by a
 * short answer. With --bidir both ranks of a pair send at the same time. */

#include "common.h"
#include "memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    STREAM_TAG_DATA = 1,
    STREAM_TAG_ACK  = 2
};

typedef struct {
    const bench_options_t *options;
    int                   rank;
    int                   peer;
    int                   sends;
    int                   receives;
    char                  *send_buffer; /* `window` messages each */
    char                  *recv_buffer;
    MPI_Request           *requests;
} stream_t;

static void stream_window(void *arg)
{
    stream_t *stream               = arg;
    const bench_options_t *options = stream->options;
    int count                      = 0;
    char ack                       = 0;
    int i;

    if (stream->receives) {
        for (i = 0; i < options->window; ++i) {
            MPI_Irecv(stream->recv_buffer + i * options->size, options->size,
                      MPI_CHAR, stream->peer, STREAM_TAG_DATA, MPI_COMM_WORLD,
                      &stream->requests[count++]);
        }
    }
    if (stream->sends) {
        for (i = 0; i < options->window; ++i) {
            MPI_Isend(stream->send_buffer + i * options->size, options->size,
                      MPI_CHAR, stream->peer, STREAM_TAG_DATA, MPI_COMM_WORLD,
                      &stream->requests[count++]);
        }
    }
    MPI_Waitall(count, stream->requests, MPI_STATUSES_IGNORE);

    /* The rank that times must not stop before the data has arrived. */
    if (stream->sends && stream->receives) {
        MPI_Sendrecv(&ack, 1, MPI_CHAR, stream->peer, STREAM_TAG_ACK, &ack, 1,
                     MPI_CHAR, stream->peer, STREAM_TAG_ACK, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    } else if (stream->sends) {
        MPI_Recv(&ack, 1, MPI_CHAR, stream->peer, STREAM_TAG_ACK,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Send(&ack, 1, MPI_CHAR, stream->peer, STREAM_TAG_ACK,
                 MPI_COMM_WORLD);
    }
}

static void stream_checked_window(stream_t *stream, unsigned number)
{
    const bench_options_t *options = stream->options;
    int i;

    for (i = 0; i < options->window; ++i) {
        if (stream->sends) {
            bench_pattern_fill(stream->send_buffer + i * options->size,
                               options->size, stream->rank, stream->peer,
                               number * options->window + i);
        }
    }
    if (stream->receives) {
        bench_data_set(stream->recv_buffer, 0,
                       options->window * options->size);
    }

    stream_window(stream);

    for (i = 0; stream->receives && (i < options->window); ++i) {
        bench_pattern_check(stream->recv_buffer + i * options->size,
                            options->size, stream->peer, stream->rank,
                            number * options->window + i);
    }
}

/* One size: checks, warms up, measures and prints the result. */
static void stream_measure(stream_t *stream)
{
    const bench_options_t *options = stream->options;
    double elapsed, messages;
    long windows, total = 0;
    int pairs, i;

    MPI_Comm_size(MPI_COMM_WORLD, &pairs);
    pairs              /= 2;
    stream->send_buffer = bench_data(options->size * options->window, 1);
    stream->recv_buffer = bench_data(options->size * options->window, 0);
    stream->requests    = bench_buffer(2 * options->window *
                                       sizeof(*stream->requests), 0);

    for (i = 0; i < options->check; ++i) {
        stream_checked_window(stream, i);
    }
    total += options->check;

    /* Somebody pays for connections and page faults before one window can
     * tell how long it lasts; one of these takes seconds on a slow wire. */
    if (options->check == 0) {
        bench_repeat(stream_window, stream, 1);
        total++;
    }
    elapsed = bench_measure(options, stream_window, stream, &windows, &total);

    if (stream->rank == 0) {
        messages = (double)windows * options->window * pairs *
                   (options->bidir ? 2 : 1);
        printf(BENCH_RESULT_PREFIX
               "{\"program\": \"stream\", \"size\": %zu, \"window\": %d,"
               " \"bidir\": %s, \"pairs\": %d, \"seconds\": %.9g,"
               " \"messages\": %.0f, \"bytes_per_s\": %.9g,"
               " \"messages_per_s\": %.9g, \"payload_bytes\": %.0f,"
               " \"checked\": %d}\n",
               options->size, options->window,
               options->bidir ? "true" : "false", pairs, elapsed, messages,
               messages * options->size / elapsed, messages / elapsed,
               (double)total * options->window * options->size * pairs *
                       (options->bidir ? 2 : 1),
               options->check * options->window);
    }

    free(stream->requests);
    bench_data_free(stream->recv_buffer);
    bench_data_free(stream->send_buffer);
}

int main(int argc, char **argv)
{
    bench_options_t options;
    stream_t stream;
    int ranks, turn;

    MPI_Init(&argc, &argv);
    bench_options_parse(&options, argc, argv);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &stream.rank);
    if (ranks % 2) {
        fprintf(stderr, "stream: needs an even number of ranks\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }

    stream.options  = &options;
    stream.peer     = (stream.rank + ranks / 2) % ranks;
    stream.sends    = options.bidir || (stream.rank < ranks / 2);
    stream.receives = options.bidir || (stream.rank >= ranks / 2);
    for (turn = 0; bench_options_turn(&options, turn); ++turn) {
        stream_measure(&stream);
    }

    MPI_Finalize();
    return 0;
}
