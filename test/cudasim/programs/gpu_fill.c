/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
/*
 * gpu_fill PIECE CAP: uses UCX and a GPU. Takes all of the GPU's memory at once; then
 * says "now for others" and takes it, while others of the node want the link of this
 * GPU, in pieces of so many bytes. Fails if UCX has any of that memory before they
 * do, none or more than CAP bytes when they do, if the program does not get all, or if
 * UCX has none again a while after the program has given it back.
 */
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

enum { MOST_PIECES = 100000 };

static void fail(const char *what, size_t number)
{
    fprintf(stderr, "gpu_fill: %s: %zu bytes\n", what, number);
    exit(1);
}

static size_t left(void)
{
    size_t left, total;
    if (cudaMemGetInfo(&left, &total) != cudaSuccess) {
        fail("the GPU does not say what is left", 0);
    }
    return left;
}

/* What UCX has of `all` bytes that were left without it, when it has some. */
static size_t ucx_has(size_t all)
{
    int i;
    for (i = 0; i < 400 && left() == all; ++i) {
        usleep(50000);
    }
    return all - left();
}

int main(int argc, char **argv)
{
    ucp_params_t        params        = {.field_mask = UCP_PARAM_FIELD_FEATURES,
                                         .features   = UCP_FEATURE_TAG};
    ucp_worker_params_t worker_params = {0};
    static void        *pieces[MOST_PIECES];
    ucp_context_h       context;
    ucp_worker_h        worker;
    void               *memory;
    size_t              all, had, got = 0, piece, cap, i, count;

    if (argc != 3) {
        fprintf(stderr, "usage: gpu_fill PIECE CAP\n");
        return 2;
    }
    piece = strtoull(argv[1], NULL, 10);
    cap   = strtoull(argv[2], NULL, 10);
    if (cudaMalloc(&memory, 1) != cudaSuccess) {
        fail("no memory of the GPU", 1);
    }
    all = left();
    if (ucp_init(&params, NULL, &context) != UCS_OK ||
        ucp_worker_create(context, &worker_params, &worker) != UCS_OK) {
        fail("UCX cannot be used", 0);
    }
    usleep(300000);
    if (left() != all) {
        fail("nobody wants it, and UCX has", all - left());
    }
    if (cudaMalloc(&memory, all) != cudaSuccess) {
        fail("the program does not get at once", all);
    }
    cudaFree(memory);
    puts("now for others");
    fflush(stdout);
    had = ucx_has(all);
    printf("%zu bytes left, UCX has %zu\n", all, had);
    if (had == 0 || had > cap) {
        fail("UCX has", had);
    }
    for (count = 0; count < MOST_PIECES; ++count) {
        if (cudaMalloc(&pieces[count], piece) != cudaSuccess) {
            break;
        }
        got += piece;
    }
    printf("got %zu, %zu left\n", got, left());
    if (got + piece <= all) {
        fail("the program got only", got);
    }
    for (i = 0; i < count; ++i) {
        cudaFree(pieces[i]);
    }
    had = ucx_has(all);
    printf("UCX has %zu again\n", had);
    if (had == 0 || had > cap) {
        fail("UCX has then", had);
    }
    ucp_worker_destroy(worker);
    ucp_cleanup(context);
    if (left() != all) {
        fail("UCX keeps", all - left());
    }
    return 0;
}
