/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* How much of a transfer goes on while the program computes and calls no MPI.
 *
 * Every rank begins a transfer, looks for --look seconds whether it is complete
 * (MPI_Testall), computes for as long as the transfer takes when nothing is
 * computed, and waits for the rest (MPI_Waitall). The transfer is
 *
 *     a message of --size bytes to and from a rank of the other half of the ranks,
 *     with --ialltoallv an MPI_Ialltoallv of --size bytes to each, or
 *     with --moe the dispatch of a mixture of experts, as in routing.h, and then the
 *     combine, which is its reverse; each goes on beside a computation of its own.
 *
 * Of the times, each of the slowest rank,
 *
 *     overlap = (transfer alone + computation alone - both) / the shorter of the two:
 *
 * 1 if both take as long as the longer of the two, 0 if they follow each other. It
 * computes for that time, whatever it has done then, or with --work until it has done
 * what it does in that time alone. What the computation lost is how much longer as much
 * of it takes beside the transfer. Before each
 * transfer, also the one that is alone, the program computes: so both begin on
 * connections that have rested for as long. */

#include "common.h"
#include "routing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    OVERLAP_PARTS       = 2,  /* at most, of a transfer, one after the other */
    OVERLAP_REPETITIONS = 5,  /* at least */
    OVERLAP_WARMUPS     = 3,  /* at least; they tell how long to compute */
    OVERLAP_TRIALS      = 5,  /* of how fast the ranks compute */
    OVERLAP_TIMES       = 5   /* transfers' worth of time of a repetition */
};

/* A trial lasts so long that a tick of the clock or of the scheduler is little. */
static const double OVERLAP_TRIAL = 0.1;
/* Of computing between looks at the clock, seconds. */
static const double OVERLAP_STEP = 0.00005;
/* What is computed while data is checked. */
static const double OVERLAP_CHECK = 0.02;

typedef struct {
    int    *send_bytes;
    int    *send_offsets;
    int    *recv_bytes;
    int    *recv_offsets;
    int    send_size;
    int    recv_size;
    char   *out;
    char   *in;
    long   loops;          /* of the computation beside it */
} overlap_part_t;

typedef struct {
    const bench_options_t *options;
    int                   rank;
    int                   ranks;
    double                speed;      /* loops a second */
    overlap_part_t        parts[OVERLAP_PARTS];
    int                   num_parts;
    MPI_Request           *requests;
    int                   num_requests;
    double                crossing;   /* bytes of all parts, as in common.h */
    double                busiest;
} overlap_t;

/* Seconds of each repetition, of all parts together. */
typedef struct {
    long   count;
    double *alone;         /* the transfer */
    double *computes;      /* the computation alone, twice in each */
    double *both;
    double *beside;        /* the computation beside the transfer */
} overlap_times_t;

/* A median of repetitions, and what they spread over. */
typedef struct {
    double middle;
    double least;
    double most;
} overlap_spread_t;

/* So that no compiler leaves the computation out. */
static volatile double overlap_sink;

static void overlap_fail(const char *message)
{
    fprintf(stderr, "bench: overlap: %s\n", message);
    MPI_Abort(MPI_COMM_WORLD, 2);
    exit(2);
}

/* Arithmetic of which each step needs the one before it, in registers. */
static void overlap_work(long loops)
{
    double value = overlap_sink;
    long i;

    for (i = 0; i < loops; ++i) {
        value = value * 0.999 + 0.5;
    }
    overlap_sink = value;
}

static double overlap_slowest(double seconds)
{
    MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX,
                  MPI_COMM_WORLD);
    return seconds;
}

/* Seconds of the computation alone; all ranks compute at once. */
static double overlap_computed(long loops)
{
    double start;

    MPI_Barrier(MPI_COMM_WORLD);
    start = MPI_Wtime();
    overlap_work(loops);
    return overlap_slowest(MPI_Wtime() - start);
}

/* Loops a second while all ranks compute: where they share cores they do so
 * later, too. */
static double overlap_speed(long loops)
{
    double trials[OVERLAP_TRIALS];
    int i;

    for (i = 0; i < OVERLAP_TRIALS; ++i) {
        trials[i] = overlap_computed(loops);
    }
    bench_sort(trials, OVERLAP_TRIALS);
    return loops / bench_quantile(trials, OVERLAP_TRIALS, 0.5);
}

/* The same before anything else. */
static double overlap_first_speed(void)
{
    long loops = 1 << 20;

    while (overlap_computed(loops) < OVERLAP_TRIAL) {
        loops *= 2;
    }
    return overlap_speed(loops);
}

/* Bytes from each rank to each. */
static int *overlap_matrix(const bench_options_t *options, int ranks)
{
    int *bytes = options->moe ? bench_routing(options, ranks) :
                 bench_buffer((size_t)ranks * ranks * sizeof(*bytes), 0);
    int src, dst;

    if (!options->moe && ((double)options->size * ranks * ranks > 2e9)) {
        overlap_fail("--size is too much for so many ranks");
    }
    if (!options->moe && !options->ialltoallv && (ranks % 2)) {
        overlap_fail("needs an even number of ranks");
    }

    for (src = 0; src < ranks; ++src) {
        for (dst = 0; dst < ranks; ++dst) {
            if (options->moe) {
                bytes[src * ranks + dst] *= (int)options->size;
            } else if (options->ialltoallv ||
                       (dst == (src + ranks / 2) % ranks)) {
                bytes[src * ranks + dst] = (int)options->size;
            }
        }
    }

    return bytes;
}

/* What the transposed matrix moves is the reverse, and sends what the part before
 * it has received. */
static void overlap_part_init(overlap_t *self, const int *bytes, int transposed)
{
    overlap_part_t *part = &self->parts[self->num_parts];
    size_t ints          = self->ranks * sizeof(int);
    bench_traffic_t traffic;
    double crossing, busiest;
    int i, j;

    bench_traffic_init(&traffic);
    for (i = 0; i < self->ranks; ++i) {
        for (j = 0; j < self->ranks; ++j) {
            traffic.bytes[i * self->ranks + j] =
                    transposed ? bytes[j * self->ranks + i] :
                                 bytes[i * self->ranks + j];
        }
    }
    bench_traffic_crossing(&traffic, &crossing, &busiest);
    self->crossing += crossing;
    self->busiest  += busiest;

    part->send_bytes   = bench_buffer(ints, 0);
    part->send_offsets = bench_buffer(ints, 0);
    part->recv_bytes   = bench_buffer(ints, 0);
    part->recv_offsets = bench_buffer(ints, 0);
    for (i = 0; i < self->ranks; ++i) {
        part->send_bytes[i] = traffic.bytes[self->rank * self->ranks + i];
        part->recv_bytes[i] = traffic.bytes[i * self->ranks + self->rank];
        part->send_offsets[i]  = part->send_size;
        part->recv_offsets[i]  = part->recv_size;
        part->send_size       += part->send_bytes[i];
        part->recv_size       += part->recv_bytes[i];
    }
    part->out = transposed ? part[-1].in : bench_buffer(part->send_size, 1);
    part->in  = bench_buffer(part->recv_size, 0);
    self->num_parts++;
    bench_traffic_cleanup(&traffic);
}

static void overlap_init(overlap_t *self, const bench_options_t *options)
{
    int *bytes;

    memset(self, 0, sizeof(*self));
    self->options = options;
    MPI_Comm_rank(MPI_COMM_WORLD, &self->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &self->ranks);
    self->speed    = overlap_first_speed();
    self->requests = bench_buffer(2 * self->ranks * sizeof(*self->requests), 0);
    bytes          = overlap_matrix(options, self->ranks);
    overlap_part_init(self, bytes, 0);
    if (options->moe) {
        overlap_part_init(self, bytes, 1);
    }
    free(bytes);
}

static void overlap_cleanup(overlap_t *self)
{
    overlap_part_t *part;

    free(self->parts[0].out);
    for (part = self->parts; part < self->parts + self->num_parts; ++part) {
        free(part->in);
        free(part->recv_offsets);
        free(part->recv_bytes);
        free(part->send_offsets);
        free(part->send_bytes);
    }
    free(self->requests);
}

static void overlap_begin(overlap_t *self, const overlap_part_t *part)
{
    int count = 0;
    int i;

    if (self->options->ialltoallv || self->options->moe) {
        MPI_Ialltoallv(part->out, part->send_bytes, part->send_offsets,
                       MPI_CHAR, part->in, part->recv_bytes,
                       part->recv_offsets, MPI_CHAR, MPI_COMM_WORLD,
                       &self->requests[count++]);
        self->num_requests = count;
        return;
    }

    for (i = 0; i < self->ranks; ++i) {
        if (part->recv_bytes[i] > 0) {
            MPI_Irecv(part->in + part->recv_offsets[i], part->recv_bytes[i],
                      MPI_CHAR, i, 0, MPI_COMM_WORLD,
                      &self->requests[count++]);
        }
    }
    for (i = 0; i < self->ranks; ++i) {
        if (part->send_bytes[i] > 0) {
            MPI_Isend(part->out + part->send_offsets[i], part->send_bytes[i],
                      MPI_CHAR, i, 0, MPI_COMM_WORLD,
                      &self->requests[count++]);
        }
    }
    self->num_requests = count;
}

static void overlap_look(overlap_t *self)
{
    double until = MPI_Wtime() + self->options->look;
    int done     = 0;

    while (!done && (MPI_Wtime() < until)) {
        MPI_Testall(self->num_requests, self->requests, &done,
                    MPI_STATUSES_IGNORE);
    }
}

static void overlap_wait(overlap_t *self)
{
    MPI_Waitall(self->num_requests, self->requests, MPI_STATUSES_IGNORE);
}

/* Seconds of the transfer alone. */
static double overlap_transferred(overlap_t *self, const overlap_part_t *part)
{
    double start;

    MPI_Barrier(MPI_COMM_WORLD);
    start = MPI_Wtime();
    overlap_begin(self, part);
    overlap_wait(self);
    return overlap_slowest(MPI_Wtime() - start);
}

/* The computation from `start` on: as much time as it takes alone, or as much work.
 * Returns the seconds in which it does that work beside the transfer. */
static double overlap_compute(const overlap_t *self, const overlap_part_t *part,
                              double start)
{
    double until = start + part->loops / self->speed;
    long step    = (long)(self->speed * OVERLAP_STEP) + 1;
    double loops = 0;

    if (self->options->work) {
        overlap_work(part->loops);
        return MPI_Wtime() - start;
    }

    do {
        overlap_work(step);
        loops += step;
    } while (MPI_Wtime() < until);
    return (MPI_Wtime() - start) * part->loops / loops;
}

/* Seconds of both; `computed` is those of the computation. */
static double overlap_both(overlap_t *self, const overlap_part_t *part,
                           double *computed)
{
    double start, computes, elapsed;

    MPI_Barrier(MPI_COMM_WORLD);
    start = MPI_Wtime();
    overlap_begin(self, part);
    overlap_look(self);
    computes = MPI_Wtime();
    *computed = overlap_compute(self, part, computes);
    overlap_wait(self);
    elapsed   = overlap_slowest(MPI_Wtime() - start);
    *computed = overlap_slowest(*computed);
    return elapsed;
}

/* One transfer beside a short computation, whose data is verified. What the experts
 * of a mixture send back is what they got. */
static void overlap_checked(overlap_t *self, unsigned number)
{
    const overlap_part_t *first = &self->parts[0];
    overlap_part_t *part;
    double computed;
    int i;

    for (i = 0; i < self->ranks; ++i) {
        bench_pattern_fill(first->out + first->send_offsets[i],
                           first->send_bytes[i], self->rank, i, number);
    }
    for (part = self->parts; part < self->parts + self->num_parts; ++part) {
        memset(part->in, 0, part->recv_size);
        part->loops = self->speed * OVERLAP_CHECK;
        overlap_both(self, part, &computed);
        for (i = 0; i < self->ranks; ++i) {
            bench_pattern_check(part->in + part->recv_offsets[i],
                                part->recv_bytes[i],
                                (part == first) ? i : self->rank,
                                (part == first) ? self->rank : i, number);
        }
    }
}

/* Warms up, and makes each computation as long as its transfer takes alone. Returns
 * the seconds of all parts; `*count` is how many transfers that were. */
static double overlap_warm_up(overlap_t *self, long *count)
{
    const bench_options_t *options = self->options;
    double sum                     = 0;
    double middle, *times;
    overlap_part_t *part;
    long i;

    /* Somebody pays for connections, if no data was checked. */
    for (part = self->parts; part < self->parts + self->num_parts; ++part) {
        sum += overlap_transferred(self, part);
    }
    *count = bench_iterations(options->warmup - sum, sum, OVERLAP_WARMUPS);
    times  = bench_buffer(*count * sizeof(*times), 0);
    sum    = 0;
    for (part = self->parts; part < self->parts + self->num_parts; ++part) {
        for (i = 0; i < *count; ++i) {
            times[i] = overlap_transferred(self, part);
        }
        bench_sort(times, *count);
        middle      = bench_quantile(times, *count, 0.5);
        part->loops = self->speed * middle;
        /* Cores that are shared, also with other machines, have changed their
         * speed since, and that of a longer computation may be another. */
        self->speed = overlap_speed(part->loops);
        part->loops = self->speed * middle;
        sum        += middle;
    }
    free(times);
    *count += 1;
    return sum;
}

static overlap_spread_t overlap_spread(double *values, long count)
{
    overlap_spread_t spread;

    bench_sort(values, count);
    spread.middle = bench_quantile(values, count, 0.5);
    spread.least  = values[0];
    spread.most   = values[count - 1];
    return spread;
}

static void overlap_print(const char *name, const overlap_spread_t *spread)
{
    printf(", \"%s_s\": %.9g, \"%s_least_s\": %.9g, \"%s_most_s\": %.9g", name,
           spread->middle, name, spread->least, name, spread->most);
}

static void overlap_measure(overlap_t *self, overlap_times_t *times)
{
    size_t size = times->count * sizeof(double);
    overlap_part_t *part;
    double beside;
    long i;

    times->alone    = bench_buffer(size, 0);
    times->computes = bench_buffer(2 * size, 0);
    times->both     = bench_buffer(size, 0);
    times->beside   = bench_buffer(size, 0);
    for (i = 0; i < times->count; ++i) {
        for (part = self->parts; part < self->parts + self->num_parts; ++part) {
            times->computes[2 * i]     += overlap_computed(part->loops);
            times->alone[i]            += overlap_transferred(self, part);
            times->computes[2 * i + 1] += overlap_computed(part->loops);
            times->both[i]             += overlap_both(self, part, &beside);
            times->beside[i]           += beside;
        }
    }
}

static void overlap_report(const overlap_t *self, overlap_times_t *times,
                           double transfers)
{
    const bench_options_t *options = self->options;
    overlap_spread_t alone         = overlap_spread(times->alone, times->count);
    overlap_spread_t computes      = overlap_spread(times->computes,
                                                    2 * times->count);
    overlap_spread_t both          = overlap_spread(times->both, times->count);
    overlap_spread_t beside        = overlap_spread(times->beside,
                                                    times->count);
    double sum                     = alone.middle + computes.middle;
    double shorter                 = fmin(alone.middle, computes.middle);
    double raw                     = (sum - both.middle) / shorter;

    printf(BENCH_RESULT_PREFIX
           "{\"program\": \"overlap\", \"transfer\": \"%s\", \"size\": %zu,"
           " \"ranks\": %d, \"skew\": %g, \"look_s\": %g,"
           " \"repetitions\": %ld, \"overlap_share\": %.9g,"
           " \"overlap_raw_share\": %.9g, \"overlap_least_share\": %.9g,"
           " \"overlap_most_share\": %.9g, \"over_longer\": %.9g,"
           " \"lost_share\": %.9g",
           options->moe ? "moe" : options->ialltoallv ? "ialltoallv" : "pair",
           options->size, self->ranks, options->skew, options->look,
           times->count,
           fmin(fmax(raw, 0), 1), raw, (sum - both.most) / shorter,
           (sum - both.least) / shorter,
           both.middle / fmax(alone.middle, computes.middle) - 1,
           beside.middle / computes.middle - 1);
    overlap_print("alone", &alone);
    overlap_print("compute", &computes);
    overlap_print("both", &both);
    overlap_print("beside", &beside);
    printf(", \"bytes_per_s\": %.9g, \"payload_bytes\": %.0f,"
           " \"checked\": %d}\n", self->busiest / alone.middle,
           self->crossing * transfers, options->check);
}

int main(int argc, char **argv)
{
    bench_options_t options;
    overlap_times_t times;
    double elapsed;
    overlap_t self;
    long warm;
    int i;

    MPI_Init(&argc, &argv);
    bench_options_parse(&options, argc, argv);
    overlap_init(&self, &options);
    for (i = 0; i < options.check; ++i) {
        overlap_checked(&self, i);
    }

    elapsed     = overlap_warm_up(&self, &warm);
    times.count = bench_iterations(options.time, OVERLAP_TIMES * elapsed,
                                   (int)fmax(options.min_iters,
                                             OVERLAP_REPETITIONS));
    overlap_measure(&self, &times);
    if (self.rank == 0) {
        overlap_report(&self, &times, options.check + warm + 2 * times.count);
    }

    free(times.beside);
    free(times.both);
    free(times.computes);
    free(times.alone);
    overlap_cleanup(&self);
    MPI_Finalize();
    return 0;
}
