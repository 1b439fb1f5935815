/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* usage: nicwatch rx|tx MILLISECONDS NIC...
 *
 * Reads the byte counters of NICs at this interval until standard input ends,
 * then prints a line for each reading: seconds since 1970, and the bytes of
 * every NIC. To a line on standard input it prints those since the last time, and
 * an empty line; it forgets them, and reads nothing meanwhile. So what it holds is
 * bounded by who asks: 40 kB for a second of 4 NICs at 1 ms. */

#define _GNU_SOURCE /* ppoll */

#include "nic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NICWATCH_MAX 16

/* Of each reading one time, and then the bytes of each NIC. */
typedef union {
    double             time;
    unsigned long long bytes;
} nicwatch_value_t;

typedef struct {
    nicwatch_value_t *values;
    size_t           count, room;
    int              fds[NICWATCH_MAX];
    int              nics;
} nicwatch_t;

static double nicwatch_clock(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

static int nicwatch_open(const char *nic, const char *way)
{
    char path[256];
    int fd;

    bench_nic_file(path, sizeof(path), nic, way);
    fd = open(path, O_RDONLY);
    if (fd < 0) {
        fprintf(stderr, "bench: nicwatch: %s: %s\n", path, strerror(errno));
        exit(1);
    }
    return fd;
}

static unsigned long long nicwatch_read(int fd)
{
    char text[32] = "";

    if (pread(fd, text, sizeof(text) - 1, 0) <= 0) {
        fprintf(stderr, "bench: nicwatch: cannot read a counter: %s\n",
                strerror(errno));
        exit(1);
    }
    return strtoull(text, NULL, 10);
}

static void nicwatch_add(nicwatch_t *self)
{
    nicwatch_value_t *value;
    int n;

    if (self->count == self->room) {
        self->room   = (self->room == 0) ? 4096 : 2 * self->room;
        self->values = realloc(self->values, self->room * (1 + self->nics) *
                                             sizeof(*self->values));
        if (self->values == NULL) {
            fprintf(stderr, "bench: nicwatch: no memory\n");
            exit(1);
        }
    }
    value           = self->values + self->count++ * (1 + self->nics);
    (value++)->time = nicwatch_clock(CLOCK_REALTIME);
    for (n = 0; n < self->nics; ++n) {
        (value++)->bytes = nicwatch_read(self->fds[n]);
    }
}

static void nicwatch_print(nicwatch_t *self)
{
    nicwatch_value_t *value = self->values;
    int n;

    for (; self->count > 0; self->count--) {
        printf("%.6f", (value++)->time);
        for (n = 0; n < self->nics; ++n) {
            printf(" %llu", (value++)->bytes);
        }
        printf("\n");
    }
}

int main(int argc, char **argv)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    nicwatch_t self     = {.nics = argc - 3};
    struct timespec pause;
    double interval, next, left;
    ssize_t length = 1;
    char letters[64];
    int n;

    interval = (argc > 2) ? 1e-3 * atof(argv[2]) : 0;
    if ((self.nics < 1) || (self.nics > NICWATCH_MAX) || !(interval > 0) ||
        (strcmp(argv[1], "rx") && strcmp(argv[1], "tx"))) {
        fprintf(stderr, "bench: usage: nicwatch rx|tx MILLISECONDS NIC... (at"
                " most %d NICs)\n", NICWATCH_MAX);
        return 2;
    }
    for (n = 0; n < self.nics; ++n) {
        self.fds[n] = nicwatch_open(argv[n + 3], argv[1]);
    }

    next = nicwatch_clock(CLOCK_MONOTONIC);
    while (length > 0) {
        nicwatch_add(&self);

        next += interval;
        left  = next - nicwatch_clock(CLOCK_MONOTONIC);
        if (left < 0) {
            next -= left;
            left  = 0;
        }
        pause.tv_sec  = (time_t)left;
        pause.tv_nsec = (long)((left - pause.tv_sec) * 1e9);
        if (ppoll(&input, 1, &pause, NULL) > 0) {
            length = read(STDIN_FILENO, letters, sizeof(letters));
            if ((length > 0) && (memchr(letters, '\n', length) != NULL)) {
                nicwatch_print(&self);
                printf("\n");
                fflush(stdout);
            }
        }
    }
    nicwatch_print(&self);
    free(self.values);
    return 0;
}
