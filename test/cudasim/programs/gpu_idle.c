/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
/*
 * gpu_idle GPU: uses UCX and a GPU, and does nothing, until it is ended. It says
 * "ready" when it does nothing. SIGTERM ends it as a program that is through.
 */
#include <cuda_runtime.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    ucp_params_t        params        = {.field_mask = UCP_PARAM_FIELD_FEATURES,
                                         .features   = UCP_FEATURE_TAG};
    ucp_worker_params_t worker_params = {0};
    ucp_context_h       context;
    ucp_worker_h        worker;
    void               *memory;
    ucs_status_t        status;
    sigset_t            term;
    int                 which;

    if (argc != 2) {
        fprintf(stderr, "usage: gpu_idle GPU\n");
        return 2;
    }
    /* Before there are other threads, which would get it else. */
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    sigprocmask(SIG_BLOCK, &term, NULL);
    if (cudaSetDevice(atoi(argv[1])) != cudaSuccess ||
        cudaMalloc(&memory, 1) != cudaSuccess) {
        fprintf(stderr, "gpu_idle: no GPU %s\n", argv[1]);
        return 1;
    }
    status = ucp_init(&params, NULL, &context);
    if (status == UCS_OK) {
        status = ucp_worker_create(context, &worker_params, &worker);
    }
    if (status != UCS_OK) {
        fprintf(stderr, "gpu_idle: %s\n", ucs_status_string(status));
        return 1;
    }
    puts("ready");
    fflush(stdout);
    sigwait(&term, &which);
    ucp_worker_destroy(worker);
    ucp_cleanup(context);
    return 0;
}
