/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* Which experts the tokens of a mixture of experts are routed to.
 *
 * There are --experts experts on each rank. How popular they are follows Zipf's
 * law with exponent --skew (0: all alike), in an order that is shuffled over the
 * ranks; every token is routed to --topk different experts. The routing is drawn
 * from a fixed seed, so all transports get the same. A row has --size bytes. */

#ifndef FUSELINK_BENCH_ROUTING_H_
#define FUSELINK_BENCH_ROUTING_H_

#include "common.h"

/* Rows from each rank to each, [src * ranks + dst]: the same at all ranks, so that
 * each knows what it gets without asking, and what the network carries. Ends the
 * job if the options do not allow it. The caller frees. */
int *bench_routing(const bench_options_t *options, int ranks);

#endif
