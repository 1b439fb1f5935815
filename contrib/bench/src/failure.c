/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* usage: failure [--alltoallv | --hotspot | --put] [--size BYTES] [--window N]
 *                [--compute SECONDS] [NIC...]
 *
 * Moves data until it is told to stop, while others pull cables: a stream of
 * messages from the first half of the ranks to the second, MPI_Alltoallv, in which
 * with --hotspot only the last rank gets `size` bytes of each, and others next to
 * nothing, or from the first half MPI_Put of `window` blocks and a flush. All data
 * is checked. The last rank prints a line for each message or call, and of puts, of
 * whose arrival only their origin is told, rank 0 for each flush; and the last rank
 * its process before the first:
 *
 *     BENCH-AT SECONDS BYTES      since 1970; what has come in all, to one host
 *     BENCH-PID NUMBER
 *
 * Rank 0 takes orders from standard input, a letter each: `m` finds out which NICs
 * carry short messages, `q` or the end of the input ends the program. Either way
 * what is under way ends first. Before it begins, and after each `m`, rank 0 prints
 * the bytes that short messages between the ranks put on each of its host's NICs,
 * while nothing else was under way. With --put they are short puts and flushes, as
 * windows may have connections of their own:
 *
 *     BENCH-MESSAGES NIC=BYTES...
 *
 * `c`, not of puts, has the last rank compute for so many seconds, without a call of
 * MPI. It says
 * when it begins and ends:
 *
 *     BENCH-COMPUTES
 *     BENCH-COMPUTED
 *
 * The last line is BENCH-END. */

#include "common.h"
#include "nic_file.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum {
    FAILURE_MESSAGES = 100, /* calls to find the NICs of short messages */
    FAILURE_TAG      = 5,
    FAILURE_AREAS    = 2 /* of `window` blocks: one is put while another is looked at */
};

typedef enum {
    FAILURE_GO_ON,
    FAILURE_COMPUTE,
    FAILURE_MEASURE,
    FAILURE_QUIT
} failure_order_t;

/* In front of each message's pattern. */
typedef struct {
    uint64_t order; /* one of them; of a stream, when so many more have come */
} failure_head_t;

typedef struct {
    int         rank, ranks;
    size_t      size;
    int         window;
    int         hotspot;
    double      compute; /* seconds */
    char        **nics;
    int         num_nics;
    char        *out, *in;
    int         reporter; /* the rank that tells of arrivals */
    double      arrived; /* at the last rank's host */
    double      per_step; /* what each message, call or flush adds to that */
    unsigned    sent, received; /* messages or calls; blocks that were put */
    MPI_Win     win; /* of `in`; MPI_WIN_NULL without --put */
} failure_t;

static int failure_is_last(const failure_t *self)
{
    return self->rank == self->ranks - 1;
}

/* Of a message to this rank. */
static size_t failure_size(const failure_t *self, int to)
{
    return (self->hotspot && (to != self->ranks - 1)) ?
           2 * sizeof(failure_head_t) : self->size;
}

static void failure_print_arrival(failure_t *self)
{
    struct timeval now;

    self->arrived += self->per_step;
    if (self->rank == self->reporter) {
        gettimeofday(&now, NULL);
        printf("BENCH-AT %ld.%06ld %.0f\n", (long)now.tv_sec, (long)now.tv_usec,
               self->arrived);
        fflush(stdout);
    }
}

/* What rank 0 was told since the last time. */
static failure_order_t failure_next_order(void)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    char letter;

    if (poll(&input, 1, 0) <= 0) {
        return FAILURE_GO_ON;
    }
    do {
        if (read(STDIN_FILENO, &letter, 1) <= 0) {
            return FAILURE_QUIT;
        }
    } while (letter == '\n');
    return (letter == 'm') ? FAILURE_MEASURE :
           (letter == 'c') ? FAILURE_COMPUTE : FAILURE_QUIT;
}

static void failure_fill(const failure_t *self, char *message, int to,
                         unsigned number, failure_order_t order)
{
    failure_head_t head = {.order = order};

    memcpy(message, &head, sizeof(head));
    bench_pattern_fill(message + sizeof(head),
                       failure_size(self, to) - sizeof(head), self->rank, to,
                       number);
}

/* The order that was with it. */
static failure_order_t failure_check(const failure_t *self, const char *message,
                                     int from, unsigned number)
{
    failure_head_t head;

    memcpy(&head, message, sizeof(head));
    bench_pattern_check(message + sizeof(head),
                        failure_size(self, self->rank) - sizeof(head), from,
                        self->rank, number);
    return head.order;
}

/* Whether an order is one after which data moves on. */
static failure_order_t failure_obey(const failure_t *self, failure_order_t order)
{
    double until = bench_clock() + self->compute;

    if (order != FAILURE_COMPUTE) {
        return order;
    }
    if (failure_is_last(self)) {
        printf("BENCH-COMPUTES\n");
        fflush(stdout);
        while (bench_clock() < until) {}
        printf("BENCH-COMPUTED\n");
        fflush(stdout);
    }
    return FAILURE_GO_ON;
}

/* Rank 0 tells the other senders, who are in its host. */
static failure_order_t failure_agree(MPI_Comm comm, failure_order_t order)
{
    int value = order;

    MPI_Bcast(&value, 1, MPI_INT, 0, comm);
    return value;
}

/* After an order there are `window` messages more: so many receives are posted
 * when the receiver sees it. */
static failure_order_t failure_send(failure_t *self, MPI_Comm senders)
{
    MPI_Request *requests = bench_buffer(self->window * sizeof(*requests), 0);
    failure_order_t order = FAILURE_GO_ON, told;
    int to                = self->rank + self->ranks / 2;
    int left              = self->window, i;

    for (i = 0; i < self->window; ++i) {
        requests[i] = MPI_REQUEST_NULL;
    }
    for (i = 0; left > 0; i = (i + 1) % self->window) {
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        told = FAILURE_GO_ON;
        if (order == FAILURE_GO_ON) {
            told  = failure_agree(senders, (self->rank == 0) ?
                                           failure_next_order() : 0);
            order = failure_obey(self, told);
        } else {
            left--;
        }
        failure_fill(self, self->out + i * self->size, to, self->sent++, told);
        MPI_Isend(self->out + i * self->size, self->size, MPI_CHAR, to,
                  FAILURE_TAG, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Waitall(self->window, requests, MPI_STATUSES_IGNORE);
    free(requests);
    return order;
}

/* When a message is complete is noted at once, but they are looked at, and received
 * into again, in order. */
static failure_order_t failure_receive(failure_t *self)
{
    MPI_Request *requests = bench_buffer(self->window * sizeof(*requests), 0);
    int *indices          = bench_buffer(self->window * sizeof(*indices), 0);
    char *complete        = bench_buffer(self->window, 0);
    int from              = self->rank - self->ranks / 2;
    failure_order_t order = FAILURE_GO_ON, told;
    int posted            = 0, next = 0, left = self->window, done, i;

    for (; posted < self->window; ++posted) {
        MPI_Irecv(self->in + posted * self->size, self->size, MPI_CHAR, from,
                  FAILURE_TAG, MPI_COMM_WORLD, &requests[posted]);
    }
    while (posted > 0) {
        MPI_Waitsome(self->window, requests, &done, indices,
                     MPI_STATUSES_IGNORE);
        for (i = 0; i < done; ++i) {
            complete[indices[i]] = 1;
            failure_print_arrival(self);
        }
        for (; complete[next]; next = (next + 1) % self->window) {
            told           = failure_check(self, self->in + next * self->size,
                                           from, self->received++);
            complete[next] = 0;
            posted--;
            if (order == FAILURE_GO_ON) {
                order = failure_obey(self, told);
            }
            if (order != FAILURE_GO_ON) {
                /* This one was posted before the order was seen: with it there
                 * are `window` after the order. */
                if (left-- < self->window) {
                    continue;
                }
            }
            MPI_Irecv(self->in + next * self->size, self->size, MPI_CHAR, from,
                      FAILURE_TAG, MPI_COMM_WORLD, &requests[next]);
            posted++;
        }
    }
    free(complete);
    free(indices);
    free(requests);
    return order;
}

/* Each rank sends to all: those of the other host must cross the network. */
static failure_order_t failure_exchange(failure_t *self)
{
    int *sent             = bench_buffer(self->ranks * sizeof(*sent), 0);
    int *received         = bench_buffer(self->ranks * sizeof(*received), 0);
    int *offsets          = bench_buffer(self->ranks * sizeof(*offsets), 0);
    failure_order_t order = FAILURE_GO_ON, told;
    int i;

    for (i = 0; i < self->ranks; ++i) {
        sent[i]     = failure_size(self, i);
        received[i] = failure_size(self, self->rank);
        offsets[i]  = i * self->size;
    }
    while (order == FAILURE_GO_ON) {
        told = (self->rank == 0) ? failure_next_order() : FAILURE_GO_ON;
        for (i = 0; i < self->ranks; ++i) {
            failure_fill(self, self->out + offsets[i], i, self->sent, told);
        }
        MPI_Alltoallv(self->out, sent, offsets, MPI_CHAR, self->in, received,
                      offsets, MPI_CHAR, MPI_COMM_WORLD);
        failure_print_arrival(self);
        for (i = 0; i < self->ranks; ++i) {
            told = failure_check(self, self->in + offsets[i], i, self->sent);
            if (i == 0) {
                order = told;
            }
        }
        order = failure_obey(self, order);
        self->sent++;
    }
    free(offsets);
    free(received);
    free(sent);
    return order;
}

/* Flushed blocks are told of by a message, and areas that are looked at by an empty
 * one. So the target is in MPI calls while blocks are under way, and finds one that
 * is lost, late or at a wrong place: each has data of its own. */
static failure_order_t failure_put(failure_t *self, MPI_Comm senders)
{
    size_t area           = self->size * self->window;
    int to                = self->rank + self->ranks / 2;
    MPI_Request free_areas[FAILURE_AREAS];
    failure_order_t order = FAILURE_GO_ON;
    int i, at;

    for (at = 0; at < FAILURE_AREAS; ++at) {
        free_areas[at] = MPI_REQUEST_NULL;
    }
    for (at = 0; order == FAILURE_GO_ON; at = (at + 1) % FAILURE_AREAS) {
        order = failure_agree(senders, (self->rank == 0) ?
                                       failure_next_order() : 0);
        for (i = 0; i < self->window; ++i) {
            failure_fill(self, self->out + i * self->size, to, self->sent++,
                         order);
        }
        MPI_Wait(&free_areas[at], MPI_STATUS_IGNORE);
        for (i = 0; i < self->window; ++i) {
            MPI_Put(self->out + i * self->size, self->size, MPI_CHAR, to,
                    at * area + i * self->size, self->size, MPI_CHAR, self->win);
        }
        MPI_Win_flush(to, self->win);
        failure_print_arrival(self);
        MPI_Irecv(NULL, 0, MPI_CHAR, to, FAILURE_TAG, MPI_COMM_WORLD,
                  &free_areas[at]);
        MPI_Send(NULL, 0, MPI_CHAR, to, FAILURE_TAG, MPI_COMM_WORLD);
    }
    MPI_Waitall(FAILURE_AREAS, free_areas, MPI_STATUSES_IGNORE);
    return order;
}

static failure_order_t failure_be_put_to(failure_t *self)
{
    size_t area           = self->size * self->window;
    int from              = self->rank - self->ranks / 2;
    failure_order_t order = FAILURE_GO_ON;
    int i, at;

    for (at = 0; order == FAILURE_GO_ON; at = (at + 1) % FAILURE_AREAS) {
        MPI_Recv(NULL, 0, MPI_CHAR, from, FAILURE_TAG, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        MPI_Win_sync(self->win);
        for (i = 0; i < self->window; ++i) {
            order = failure_check(self, self->in + at * area + i * self->size,
                                  from, self->received++);
        }
        MPI_Send(NULL, 0, MPI_CHAR, from, FAILURE_TAG, MPI_COMM_WORLD);
    }
    return order;
}

/* Bytes that a NIC of this host has sent and received. */
static double failure_nic_bytes(const char *nic)
{
    static const char *ways[] = {"tx", "rx"};
    double total              = 0, bytes;
    char path[256];
    FILE *file;
    int i;

    for (i = 0; i < 2; ++i) {
        bench_nic_file(path, sizeof(path), nic, ways[i]);
        file = fopen(path, "r");
        if ((file == NULL) || (fscanf(file, "%lf", &bytes) != 1)) {
            fprintf(stderr, "bench: failure: cannot read %s\n", path);
            MPI_Abort(MPI_COMM_WORLD, 2);
        }
        fclose(file);
        total += bytes;
    }
    return total;
}

/* In `out` and `in` there are 8 bytes for each rank; what is put to the beginning of
 * a window is put again later. */
static void failure_send_short(failure_t *self, int count, char *out, char *in)
{
    int to = self->rank + self->ranks / 2;
    int i;

    for (i = 0; i < count; ++i) {
        if (self->win == MPI_WIN_NULL) {
            MPI_Alltoall(out, 8, MPI_CHAR, in, 8, MPI_CHAR, MPI_COMM_WORLD);
        } else if (to < self->ranks) {
            MPI_Put(out, 8, MPI_CHAR, to, 0, 8, MPI_CHAR, self->win);
            MPI_Win_flush(to, self->win);
        }
    }
}

static void failure_find_messages(failure_t *self)
{
    double *before = bench_buffer((self->num_nics + 1) * sizeof(*before), 0);
    char *out      = bench_buffer(8 * self->ranks, 1);
    char *in       = bench_buffer(8 * self->ranks, 0);
    int i;

    /* The first calls may connect. */
    failure_send_short(self, FAILURE_MESSAGES / 10, out, in);
    MPI_Barrier(MPI_COMM_WORLD);
    for (i = 0; (self->rank == 0) && (i < self->num_nics); ++i) {
        before[i] = failure_nic_bytes(self->nics[i]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    failure_send_short(self, FAILURE_MESSAGES, out, in);
    MPI_Barrier(MPI_COMM_WORLD);
    if (self->rank == 0) {
        printf("BENCH-MESSAGES");
        for (i = 0; i < self->num_nics; ++i) {
            printf(" %s=%.0f", self->nics[i],
                   failure_nic_bytes(self->nics[i]) - before[i]);
        }
        printf("\n");
        fflush(stdout);
    }
    free(in);
    free(out);
    free(before);
}

/* What comes to the last rank's host from the other with each call, or message of
 * the stream. */
static double failure_per_step(const failure_t *self, int alltoallv)
{
    double total = 0;
    int i;

    for (i = self->ranks / 2; alltoallv && (i < self->ranks); ++i) {
        total += failure_size(self, i);
    }
    return (alltoallv ? total : self->size) * self->ranks / 2;
}

static size_t failure_number(const char *name, const char *text, double most)
{
    char *end;
    double value = strtod(text, &end);

    if ((*end != '\0') || !(value >= 1) || (value > most)) {
        fprintf(stderr, "bench: failure: %s '%s': accepted: 1 to %.0f\n", name,
                text, most);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    return value;
}

int main(int argc, char **argv)
{
    failure_t self    = {.size = 1000000, .window = 8, .compute = 1,
                         .win = MPI_WIN_NULL};
    int alltoallv     = 0, put = 0;
    MPI_Comm halves;
    failure_order_t order;
    int i, parts, areas;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &self.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &self.ranks);
    for (i = 1; (i < argc) && (strncmp(argv[i], "--", 2) == 0); ++i) {
        if (strcmp(argv[i], "--alltoallv") == 0) {
            alltoallv = 1;
        } else if (strcmp(argv[i], "--put") == 0) {
            put = 1;
        } else if (strcmp(argv[i], "--hotspot") == 0) {
            alltoallv = self.hotspot = 1;
        } else if ((strcmp(argv[i], "--compute") == 0) && (i + 1 < argc)) {
            self.compute = failure_number("--compute", argv[++i], 1e5);
        } else if ((strcmp(argv[i], "--size") == 0) && (i + 1 < argc)) {
            self.size = failure_number("--size", argv[++i], 1e8);
        } else if ((strcmp(argv[i], "--window") == 0) && (i + 1 < argc)) {
            self.window = failure_number("--window", argv[++i], 64);
        } else {
            fprintf(stderr, "bench: failure: '%s': accepted: --alltoallv,"
                    " --hotspot, --put, --size BYTES, --window N,"
                    " --compute SECONDS, NIC...\n", argv[i]);
            MPI_Abort(MPI_COMM_WORLD, 2);
        }
    }
    self.nics     = argv + i;
    self.num_nics = argc - i;
    if (alltoallv && put) {
        fprintf(stderr, "bench: failure: --alltoallv or --put\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if ((self.ranks % 2) || (self.size < 2 * sizeof(failure_head_t))) {
        fprintf(stderr, "bench: failure: needs an even number of ranks, and"
                " messages of %zu bytes\n", 2 * sizeof(failure_head_t));
        MPI_Abort(MPI_COMM_WORLD, 2);
    }

    if (failure_is_last(&self)) {
        printf("BENCH-PID %d\n", (int)getpid());
        fflush(stdout);
    }

    /* Half of the ranks is in each host. */
    parts         = alltoallv ? self.ranks : self.window;
    areas         = put ? FAILURE_AREAS : 1;
    self.reporter = put ? 0 : self.ranks - 1;
    self.per_step = failure_per_step(&self, alltoallv);
    if (put) {
        self.per_step *= self.window;
    }
    self.out      = bench_buffer(self.size * parts, 0);
    self.in       = bench_buffer(self.size * parts * areas, 0);
    if (put) {
        MPI_Win_create(self.in, self.size * parts * areas, 1, MPI_INFO_NULL,
                       MPI_COMM_WORLD, &self.win);
        MPI_Win_lock_all(0, self.win);
    }
    MPI_Comm_split(MPI_COMM_WORLD, self.rank < self.ranks / 2, self.rank,
                   &halves);
    do {
        failure_find_messages(&self);
        if (alltoallv) {
            order = failure_exchange(&self);
        } else if (put) {
            order = (self.rank < self.ranks / 2) ? failure_put(&self, halves) :
                                                   failure_be_put_to(&self);
        } else if (self.rank < self.ranks / 2) {
            order = failure_send(&self, halves);
        } else {
            order = failure_receive(&self);
        }
    } while (order == FAILURE_MEASURE);
    if (self.rank == 0) {
        printf("BENCH-END\n");
        fflush(stdout);
    }
    if (put) {
        MPI_Win_unlock_all(self.win);
        MPI_Win_free(&self.win);
    }
    MPI_Comm_free(&halves);
    free(self.in);
    free(self.out);
    MPI_Finalize();
    return 0;
}
