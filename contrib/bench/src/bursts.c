/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* Bursts from rank 0 to rank 1: --bursts of them, each of --time seconds with
 * --pause seconds before the next. Within one, --window messages are always
 * under way, as in `flow`. They begin at moments of the clock, the first at --at
 * plus --warmup, so that they can meet other jobs.
 *
 * What is told is how much had arrived so long after the begin of a burst, in
 * steps of a millisecond, summed over all bursts. Between two arrivals it is
 * taken to have come evenly. */

#include "common.h"
#include "memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BURSTS_TAG_DATA = 1,
    BURSTS_TAG_STOP = 2
};

static const double BURSTS_STEP = 0.001;

typedef struct {
    const bench_options_t *options;
    int                   rank;
    char                  *buffer;    /* `window` messages */
    MPI_Request           *requests;
    double                begin;      /* of the first burst */
    int                   steps;
    double                *curve;     /* bytes that came in each step */
    double                messages;
} bursts_t;

static char *bursts_message(bursts_t *self, int i)
{
    return self->buffer + i * self->options->size;
}

/* The burst that a moment is in, or after; -1: before the first. */
static int bursts_number(const bursts_t *self, double now, double *since)
{
    double period = self->options->time + self->options->pause;
    int number    = (int)floor((now - self->begin) / period);

    *since = now - self->begin - number * period;
    return (number < self->options->bursts) ? number : -1;
}

static void bursts_send(bursts_t *self, int i, int stop)
{
    MPI_Isend(bursts_message(self, i), stop ? 0 : self->options->size,
              MPI_CHAR, 1, stop ? BURSTS_TAG_STOP : BURSTS_TAG_DATA,
              MPI_COMM_WORLD, &self->requests[i]);
}

static void bursts_receive(bursts_t *self, int i)
{
    MPI_Irecv(bursts_message(self, i), self->options->size, MPI_CHAR, 0,
              MPI_ANY_TAG, MPI_COMM_WORLD, &self->requests[i]);
}

static void bursts_sender(bursts_t *self)
{
    const bench_options_t *options = self->options;
    double start;
    int burst, i;

    for (burst = 0; burst < options->bursts; ++burst) {
        start = self->begin + burst * (options->time + options->pause);
        bench_sleep_until(start);
        for (i = 0; i < options->window; ++i) {
            bursts_send(self, i, 0);
        }
        while (bench_clock() < start + options->time) {
            MPI_Waitany(options->window, self->requests, &i,
                        MPI_STATUS_IGNORE);
            bursts_send(self, i, 0);
        }
        MPI_Waitall(options->window, self->requests, MPI_STATUSES_IGNORE);
    }
    for (i = 0; i < options->window; ++i) {
        bursts_send(self, i, 1);
    }
    MPI_Waitall(options->window, self->requests, MPI_STATUSES_IGNORE);
}

/* A message came, evenly between two moments of a burst. */
static void bursts_note(bursts_t *self, double from, double to)
{
    double rate = self->options->size / fmax(to - from, 1e-9);
    int step    = (int)(from / BURSTS_STEP);
    double until;

    for (; (step < self->steps) && (from < to); ++step) {
        until              = fmin((step + 1) * BURSTS_STEP, to);
        self->curve[step] += rate * fmax(until - from, 0);
        from               = fmax(until, from);
    }
}

static void bursts_receiver(bursts_t *self)
{
    int active = self->options->window;
    int last   = -1;
    double before = 0, since;
    MPI_Status status;
    int i, number;

    for (i = 0; i < self->options->window; ++i) {
        bursts_receive(self, i);
    }
    while (active > 0) {
        MPI_Waitany(self->options->window, self->requests, &i, &status);
        if (status.MPI_TAG == BURSTS_TAG_STOP) {
            active--;
            continue;
        }
        number = bursts_number(self, bench_clock(), &since);
        if (number >= 0) {
            bursts_note(self, (number == last) ? before : 0, since);
            last   = number;
            before = since;
        }
        self->messages++;
        bursts_receive(self, i);
    }
}

/* One window whose data is verified. */
static void bursts_checked(bursts_t *self, unsigned number)
{
    const bench_options_t *options = self->options;
    unsigned seq                   = number * options->window;
    int i;

    for (i = 0; i < options->window; ++i) {
        if (self->rank == 0) {
            bench_pattern_fill(bursts_message(self, i), options->size, 0, 1,
                               seq + i);
            bursts_send(self, i, 0);
        } else {
            bursts_receive(self, i);
        }
    }
    MPI_Waitall(options->window, self->requests, MPI_STATUSES_IGNORE);
    for (i = 0; (self->rank == 1) && (i < options->window); ++i) {
        bench_pattern_check(bursts_message(self, i), options->size, 0, 1,
                            seq + i);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    bench_options_t options;
    double seconds, bytes = 0;
    bursts_t self;
    int ranks, i;

    MPI_Init(&argc, &argv);
    bench_options_parse(&options, argc, argv);
    memset(&self, 0, sizeof(self));
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &self.rank);
    if (ranks != 2) {
        fprintf(stderr, "bench: bursts: needs 2 ranks\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }

    self.options  = &options;
    self.steps    = (int)(options.time / BURSTS_STEP + 0.5);
    self.curve    = bench_buffer((self.steps + 1) * sizeof(*self.curve), 0);
    self.buffer   = bench_data(options.size * options.window, 1);
    self.requests = bench_buffer(options.window * sizeof(*self.requests), 0);
    for (i = 0; i < options.check; ++i) {
        bursts_checked(&self, i);
    }

    self.begin = bench_begin(&options, "bursts") + options.warmup;
    if (self.rank == 0) {
        bursts_sender(&self);
    } else {
        bursts_receiver(&self);
    }

    /* Rank 0 prints. */
    MPI_Allreduce(MPI_IN_PLACE, self.curve, self.steps, MPI_DOUBLE, MPI_SUM,
                  MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &self.messages, 1, MPI_DOUBLE, MPI_SUM,
                  MPI_COMM_WORLD);
    if (self.rank == 0) {
        seconds = options.time * options.bursts;
        for (i = 0; i < self.steps; ++i) {
            bytes += self.curve[i];
        }
        printf(BENCH_RESULT_PREFIX
               "{\"program\": \"bursts\", \"size\": %zu, \"window\": %d,"
               " \"bursts\": %d, \"seconds\": %.9g, \"bytes\": %.0f,"
               " \"bytes_per_s\": %.9g, \"payload_bytes\": %.0f,"
               " \"checked\": %d, \"step_s\": %.9g, \"curve\": [",
               options.size, options.window, options.bursts, seconds, bytes,
               bytes / seconds, (self.messages +
               (double)options.check * options.window) * options.size,
               options.check * options.window, BURSTS_STEP);
        for (i = 0; i < self.steps; ++i) {
            printf("%s%.0f", (i == 0) ? "" : ", ", self.curve[i]);
        }
        printf("]}\n");
    }

    free(self.requests);
    bench_data_free(self.buffer);
    free(self.curve);
    MPI_Finalize();
    return 0;
}
