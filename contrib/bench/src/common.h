/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* What the benchmark programs share: options, data patterns, statistics and
 * the one line of JSON that the driver reads. */

#ifndef FUSELINK_BENCH_COMMON_H_
#define FUSELINK_BENCH_COMMON_H_

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

/* The driver looks for lines that start with this, so that whatever else a
 * library prints does no harm. */
#define BENCH_RESULT_PREFIX "BENCH-RESULT "

enum {
    BENCH_MAX_SIZES     = 64,
    BENCH_LEAST_WINDOW  = 4   /* whatever --in-flight says */
};

typedef struct {
    size_t size;     /* bytes of a message */
    int    window;   /* messages in flight, per direction */
    int    bidir;    /* both directions at once */
    int    get;      /* onesided: read instead of writing */
    int    check;    /* windows or iterations whose data is verified */
    double warmup;   /* seconds before timing starts */
    double time;     /* seconds to time */
    int    min_iters;
    double skew;     /* alltoallv, moe: 0 is balanced */
    double hotspot;  /* alltoallv: share of all bytes for one rank */
    int    tokens;   /* moe: of each rank */
    int    experts;  /* moe: of each rank */
    int    topk;     /* moe: experts of a token */
    double at;       /* flow, bursts: when to start, seconds since 1970; 0:
                      * at once */
    int    bursts;   /* bursts: how many, each of `time` seconds, */
    double pause;    /* with so many between them */
    int    gpu;      /* messages are in memory of GPUs; not moe, onesided,
                      * latency, overlap, peers */
    int    alltoall; /* alltoallv: MPI_Alltoall instead */
    int    ialltoallv; /* overlap: that, in place of messages of pairs */
    int    moe;      /* overlap: dispatch and combine, in place of them */
    int    work;     /* overlap: as much work as alone, in place of time */
    double look;     /* overlap: seconds before the computation in which it
                      * looks whether the transfer is complete */
    size_t sizes[BENCH_MAX_SIZES]; /* latency, stream, alltoallv: one after the
                                    * other, in place of `size` */
    int    num_sizes;
    int    max_window; /* what --window says */
    double in_flight;  /* stream: bytes that shorten the window; 0: nothing */
} bench_options_t;

/* Reads the command line; prints one line and aborts the job on a bad one. */
void bench_options_parse(bench_options_t *options, int argc, char **argv);

/* Sets size and window to those of turn 0, 1, ...; returns 0 when there are no
 * more. */
int bench_options_turn(bench_options_t *options, int turn);

/* Buffer on a page boundary with every byte set to `fill`; never NULL. */
void *bench_buffer(size_t size, int fill);

/* In memory that messages are in: data that no other message of the run has: it depends on the sender, the
 * receiver, the sequence number and the offset, so a chunk that lands at the
 * wrong place, twice, or in the wrong message is seen. */
void bench_pattern_fill(void *data, size_t size, int src, int dst,
                        unsigned seq);

/* Aborts the job with the first wrong offset if the data is not as filled. */
void bench_pattern_check(const void *data, size_t size, int src, int dst,
                         unsigned seq);

/* Number of iterations that last `seconds` when one lasts `per_iter`: rank 0
 * decides, all get the same answer. */
long bench_iterations(double seconds, double per_iter, int min_iters);

/* Seconds for `count` calls of once(arg), of the slowest rank; all begin
 * together. */
double bench_repeat(void (*once)(void *arg), void *arg, long count);

/* Finds out how long a call lasts, warms up and times as many as the options
 * say: returns the seconds for `*count` calls. `*total` grows by all calls. */
double bench_measure(const bench_options_t *options, void (*once)(void *arg),
                     void *arg, long *count, long *total);

void bench_sort(double *values, size_t count);

/* Value at `fraction` (0..1) of sorted values. */
double bench_quantile(const double *sorted, size_t count, double fraction);

/* Collective: whether ranks a and b run on hosts of different names is
 * index[a] != index[b]; the caller frees. `hosts` gets their number. */
int *bench_host_index(int *hosts);

/* What moves in a part of the time measured that all ranks begin and end
 * together. */
typedef struct {
    int    ranks;
    int    hosts;
    int    *host;        /* of each rank */
    double *bytes;       /* [src * ranks + dst] */
} bench_traffic_t;

/* Collective; all bytes are 0. */
void bench_traffic_init(bench_traffic_t *traffic);

void bench_traffic_cleanup(bench_traffic_t *traffic);

/* What crosses the network in all, and what does on the busiest host and
 * direction. */
void bench_traffic_crossing(const bench_traffic_t *traffic, double *all,
                            double *busiest);

/* Prints a JSON object: bytes from host to host, and the bytes that each rank
 * sends to and gets from other hosts. The driver computes from it what the
 * wires allow. */
void bench_traffic_print(const bench_traffic_t *traffic, const char *name);

/* The moment at which all ranks begin: that of --at, or soon. Waits for it, and
 * ends the job if it is over already. To be called by all ranks. */
double bench_begin(const bench_options_t *options, const char *program);

/* Waits for a moment. */
void bench_sleep_until(double when);

/* Seconds since 1970: programs of one machine compare these. */
double bench_clock(void);

#endif
