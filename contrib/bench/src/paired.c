/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* Half the round-trip time between two ranks over two transports in turn, a few
 * milliseconds each: what else the machine does meets both of a pair alike, so
 * that their ratio says something even where the times themselves vary by
 * half. On UCX's own interface: MPI has one transport, and serves here to find
 * the other rank.
 *
 * The transports are those of the variables ONE_UCX_* and OTHER_UCX_*, or UCX_*
 * where those are not set. */

#include "common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucp/api/ucp.h>

enum {
    PAIRED_TAG     = 1,
    PAIRED_BATCH   = 100, /* round trips */
    PAIRED_WARM_UP = 500  /* the same */
};

typedef struct {
    const char    *name;    /* prefix of its variables */
    ucp_context_h context;
    ucp_worker_h  worker;
    ucp_ep_h      ep;
    unsigned long messages; /* that went out, and so many came in */
    double        *typical; /* of each batch */
} paired_t;

static int paired_rank;
static long paired_sent; /* messages of both ranks and transports */

static void paired_check(const paired_t *one, ucs_status_t status,
                         const char *what)
{
    if (UCS_STATUS_IS_ERR(status)) {
        fprintf(stderr, "paired: rank %d: %s_UCX_*: %s: %s\n", paired_rank,
                one->name, what, ucs_status_string(status));
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void paired_open(paired_t *one, const char *name)
{
    ucp_params_t params = {
        .field_mask        = UCP_PARAM_FIELD_FEATURES |
                             UCP_PARAM_FIELD_ESTIMATED_NUM_EPS,
        .features          = UCP_FEATURE_TAG,
        .estimated_num_eps = 2
    };
    ucp_worker_params_t worker = {
        .field_mask  = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
        .thread_mode = UCS_THREAD_MODE_SINGLE
    };
    ucp_ep_params_t ep = {
        .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS
    };
    const int other = 1 - paired_rank;
    unsigned long length, other_length;
    ucp_address_t *address;
    ucp_config_t *config;
    size_t size;
    void *buffer;

    one->name = name;
    paired_check(one, ucp_config_read(name, NULL, &config), "settings");
    paired_check(one, ucp_init(&params, config, &one->context), "context");
    ucp_config_release(config);
    paired_check(one, ucp_worker_create(one->context, &worker, &one->worker),
                 "worker");
    paired_check(one, ucp_worker_get_address(one->worker, &address, &size),
                 "address");

    length = size;
    MPI_Sendrecv(&length, 1, MPI_UNSIGNED_LONG, other, PAIRED_TAG,
                 &other_length, 1, MPI_UNSIGNED_LONG, other, PAIRED_TAG,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    buffer = bench_buffer(other_length, 0);
    MPI_Sendrecv(address, (int)length, MPI_BYTE, other, PAIRED_TAG, buffer,
                 (int)other_length, MPI_BYTE, other, PAIRED_TAG,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    ucp_worker_release_address(one->worker, address);

    ep.address = buffer;
    paired_check(one, ucp_ep_create(one->worker, &ep, &one->ep), "endpoint");
    free(buffer);
}

/* Ends a request that UCP has returned. */
static void paired_wait(paired_t *one, ucs_status_ptr_t request,
                        const char *what)
{
    ucs_status_t status = UCS_PTR_STATUS(request);

    if (UCS_PTR_IS_PTR(request)) {
        while ((status = ucp_request_check_status(request)) ==
               UCS_INPROGRESS) {
            ucp_worker_progress(one->worker);
        }
        ucp_request_free(request);
    }
    paired_check(one, status, what);
}

static void paired_close(paired_t *one)
{
    ucp_request_param_t param = { .op_attr_mask = 0 };

    paired_wait(one, ucp_ep_close_nbx(one->ep, &param), "closing");
    MPI_Barrier(MPI_COMM_WORLD);
    ucp_worker_destroy(one->worker);
    ucp_cleanup(one->context);
}

/* A message and its answer. Each has data of its own, which is checked. */
static void paired_round_trip(paired_t *one, char *out, char *in, size_t size)
{
    const ucp_request_param_t param = { .op_attr_mask = 0 };
    ucs_status_ptr_t receive;
    int way;

    memcpy(out, &one->messages, size < sizeof(one->messages) ?
                                size : sizeof(one->messages));
    receive = ucp_tag_recv_nbx(one->worker, in, size, PAIRED_TAG, UINT64_MAX,
                               &param);
    for (way = 0; way < 2; ++way) {
        if (way == paired_rank) {
            paired_wait(one, ucp_tag_send_nbx(one->ep, out, size, PAIRED_TAG,
                                              &param), "sending");
        } else {
            paired_wait(one, receive, "receiving");
        }
    }
    if (memcmp(out, in, size) != 0) {
        fprintf(stderr, "paired: rank %d: %s_UCX_*: wrong data in message"
                " %lu\n", paired_rank, one->name, one->messages);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    ++one->messages;
    paired_sent += 2;
}

/* The quicker quarter's slowest round trip in a batch of them, seconds. */
static double paired_batch(paired_t *one, char *out, char *in, size_t size)
{
    double samples[PAIRED_BATCH], start, now;
    int i;

    paired_round_trip(one, out, in, size); /* what the other one has left */
    start = MPI_Wtime();
    for (i = 0; i < PAIRED_BATCH; ++i) {
        paired_round_trip(one, out, in, size);
        now        = MPI_Wtime();
        samples[i] = now - start;
        start      = now;
    }
    bench_sort(samples, PAIRED_BATCH);
    return bench_quantile(samples, PAIRED_BATCH, 0.25);
}

int main(int argc, char **argv)
{
    paired_t one = {}, other = {};
    bench_options_t options;
    double begin, *ratios;
    char *in, *out;
    long count, i;
    int ranks;

    MPI_Init(&argc, &argv);
    bench_options_parse(&options, argc, argv);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &paired_rank);
    if (ranks != 2) {
        fprintf(stderr, "paired: needs 2 ranks\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    out = bench_buffer(options.size, 1);
    in  = bench_buffer(options.size, 1);

    paired_open(&one, "ONE");
    paired_open(&other, "OTHER");
    for (i = 0; i < PAIRED_WARM_UP; ++i) {
        paired_round_trip(&one, out, in, options.size);
        paired_round_trip(&other, out, in, options.size);
    }
    begin = MPI_Wtime();
    paired_batch(&one, out, in, options.size);
    paired_batch(&other, out, in, options.size);
    count = bench_iterations(options.time, MPI_Wtime() - begin,
                             options.min_iters);

    one.typical   = bench_buffer(count * sizeof(double), 0);
    other.typical = bench_buffer(count * sizeof(double), 0);
    ratios        = bench_buffer(count * sizeof(double), 0);
    for (i = 0; i < count; ++i) {
        /* Each is the first as often as the second. */
        if (i % 2 == 0) {
            one.typical[i] = paired_batch(&one, out, in, options.size);
        }
        other.typical[i] = paired_batch(&other, out, in, options.size);
        if (i % 2 != 0) {
            one.typical[i] = paired_batch(&one, out, in, options.size);
        }
        ratios[i] = other.typical[i] / one.typical[i];
    }

    if (paired_rank == 0) {
        bench_sort(one.typical, count);
        bench_sort(other.typical, count);
        bench_sort(ratios, count);
        printf(BENCH_RESULT_PREFIX
               "{\"program\": \"paired\", \"size\": %zu, \"pairs\": %ld,"
               " \"one_s\": %.9g, \"other_s\": %.9g, \"ratio\": %.6g,"
               " \"ratio_25\": %.6g, \"ratio_75\": %.6g,"
               " \"payload_bytes\": %.0f, \"checked\": %ld}\n",
               options.size, count, bench_quantile(one.typical, count, 0.5) / 2,
               bench_quantile(other.typical, count, 0.5) / 2,
               bench_quantile(ratios, count, 0.5),
               bench_quantile(ratios, count, 0.25),
               bench_quantile(ratios, count, 0.75),
               (double)paired_sent * options.size, paired_sent);
    }

    paired_close(&other);
    paired_close(&one);
    free(ratios);
    free(other.typical);
    free(one.typical);
    free(in);
    free(out);
    MPI_Finalize();
    return 0;
}
