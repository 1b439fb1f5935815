/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

#include "routing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A small generator with a period that is long enough here (xorshift64*). */
static double routing_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return ((*state * 0x2545f4914f6cdd1dull) >> 11) * (1.0 / (1ull << 53));
}

static void routing_fail(const char *message)
{
    fprintf(stderr, "bench: %s\n", message);
    MPI_Abort(MPI_COMM_WORLD, 2);
    exit(2);
}

/* Weight of every expert; expert e is on rank e / options->experts. */
static double *routing_popularity(const bench_options_t *options, int experts)
{
    double *weights = bench_buffer(experts * sizeof(*weights), 0);
    uint64_t state  = 0x9e3779b97f4a7c15ull;
    double moved;
    int i, j;

    for (i = 0; i < experts; ++i) {
        weights[i] = pow(i + 1, -options->skew);
    }
    for (i = experts - 1; i > 0; --i) {
        j          = (int)(routing_random(&state) * (i + 1));
        moved      = weights[i];
        weights[i] = weights[j];
        weights[j] = moved;
    }

    return weights;
}

/* Routes one token: marks its experts in `used` with `mark`, and counts a row
 * for the rank of each. */
static void routing_token(const bench_options_t *options, const double *weights,
                          int experts, double sum, int *used, int mark,
                          uint64_t *state, int *counts)
{
    double left = sum;
    double at;
    int k, e, last;

    for (k = 0; k < options->topk; ++k) {
        at   = routing_random(state) * left;
        last = -1;
        for (e = 0; e < experts; ++e) {
            if (used[e] == mark) {
                continue;
            }
            last  = e;
            at   -= weights[e];
            if (at < 0) {
                break;
            }
        }
        used[last]  = mark;
        left       -= weights[last];
        counts[last / options->experts]++;
    }
}

int *bench_routing(const bench_options_t *options, int ranks)
{
    int experts = options->experts * ranks;
    double sum  = 0;
    int *counts, *used;
    int i, src, token;
    double *weights;
    uint64_t state;

    if (options->topk > experts) {
        routing_fail("--topk is more than there are experts");
    }
    /* Counts and displacements of MPI_Alltoallv are ints. */
    if ((double)options->size * options->tokens * options->topk * ranks > 2e9) {
        routing_fail("--size x --tokens x --topk x ranks is more than 2 GB");
    }

    counts  = bench_buffer((size_t)ranks * ranks * sizeof(*counts), 0);
    used    = bench_buffer(experts * sizeof(*used), 0);
    weights = routing_popularity(options, experts);
    for (i = 0; i < experts; ++i) {
        sum += weights[i];
    }
    for (src = 0; src < ranks; ++src) {
        state = 0xd1b54a32d192ed03ull * (src + 1);
        for (token = 0; token < options->tokens; ++token) {
            routing_token(options, weights, experts, sum, used,
                          src * options->tokens + token + 1, &state,
                          counts + src * ranks);
        }
    }

    free(weights);
    free(used);
    return counts;
}
