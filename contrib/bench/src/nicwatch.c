/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* usage: nicwatch rx|tx MILLISECONDS NIC...
 *
 * Reads the byte counters of NICs at this interval until standard input ends,
 * then prints a line for each reading: seconds since 1970, and the bytes of
 * every NIC. */

#define _GNU_SOURCE /* ppoll */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NICWATCH_MAX 16

typedef struct {
    double             time;
    unsigned long long bytes[NICWATCH_MAX];
} reading_t;

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

    snprintf(path, sizeof(path), "/sys/class/net/%s/statistics/%s_bytes", nic,
             way);
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

int main(int argc, char **argv)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    size_t count = 0, room = 0, i;
    reading_t *readings = NULL;
    int fds[NICWATCH_MAX];
    int nics = argc - 3;
    struct timespec pause;
    double interval, next, left;
    char byte;
    int n;

    interval = (argc > 2) ? 1e-3 * atof(argv[2]) : 0;
    if ((nics < 1) || (nics > NICWATCH_MAX) || !(interval > 0) ||
        (strcmp(argv[1], "rx") && strcmp(argv[1], "tx"))) {
        fprintf(stderr, "bench: usage: nicwatch rx|tx MILLISECONDS NIC... (at"
                " most %d NICs)\n", NICWATCH_MAX);
        return 2;
    }
    for (n = 0; n < nics; ++n) {
        fds[n] = nicwatch_open(argv[n + 3], argv[1]);
    }

    next = nicwatch_clock(CLOCK_MONOTONIC);
    for (;;) {
        if (count == room) {
            room     = (room == 0) ? 4096 : 2 * room;
            readings = realloc(readings, room * sizeof(*readings));
            if (readings == NULL) {
                fprintf(stderr, "bench: nicwatch: no memory\n");
                return 1;
            }
        }
        readings[count].time = nicwatch_clock(CLOCK_REALTIME);
        for (n = 0; n < nics; ++n) {
            readings[count].bytes[n] = nicwatch_read(fds[n]);
        }
        count++;

        next += interval;
        left  = next - nicwatch_clock(CLOCK_MONOTONIC);
        if (left < 0) {
            next -= left;
            left  = 0;
        }
        pause.tv_sec  = (time_t)left;
        pause.tv_nsec = (long)((left - pause.tv_sec) * 1e9);
        if ((ppoll(&input, 1, &pause, NULL) > 0) &&
            (read(STDIN_FILENO, &byte, 1) <= 0)) {
            break;
        }
    }

    for (i = 0; i < count; ++i) {
        printf("%.6f", readings[i].time);
        for (n = 0; n < nics; ++n) {
            printf(" %llu", readings[i].bytes[n]);
        }
        printf("\n");
    }
    return 0;
}
