/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

#include "common.h"
#include "memory.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void bench_fail(const char *what, const char *value)
{
    fprintf(stderr, "bench: %s '%s'\n", what, value);
    fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 2);
    exit(2);
}

static double bench_number(const char *name, const char *text, double min,
                           double max)
{
    char what[80];
    double value;
    char *end;

    errno = 0;
    value = strtod(text, &end);
    if ((end == text) || (*end != '\0') || (errno != 0) || !(value >= min) ||
        !(value <= max)) {
        snprintf(what, sizeof(what),
                 "--%s takes a number from %g to %g, not", name, min, max);
        bench_fail(what, text);
    }

    return value;
}

/* Numbers with commas between them. */
static void bench_options_sizes(bench_options_t *options, char *text)
{
    char *rest = text;
    char *word;

    options->num_sizes = 0;
    while ((word = strsep(&rest, ",")) != NULL) {
        if (options->num_sizes == BENCH_MAX_SIZES) {
            bench_fail("too many --sizes at", word);
        }
        options->sizes[options->num_sizes++] = bench_number("sizes", word, 0,
                                                            1e9);
    }
}

int bench_options_turn(bench_options_t *options, int turn)
{
    double fitting;

    if (turn >= options->num_sizes) {
        return 0;
    }

    options->size   = options->sizes[turn];
    options->window = options->max_window;
    if ((options->in_flight > 0) && (options->size > 0)) {
        fitting         = fmax(BENCH_LEAST_WINDOW,
                               floor(options->in_flight / options->size));
        options->window = fmin(options->window, fitting);
    }

    return 1;
}

/* All programs take all of them, whether they mean something to each or not. */
static void bench_help(const char *program, const struct option *option)
{
    int rank;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        printf("usage: %s [options]\n", program);
        for (; option->name != NULL; ++option) {
            printf("  --%s%s\n", option->name,
                   option->has_arg == required_argument ? " VALUE" : "");
        }
        printf("What they mean is in contrib/bench/README.md.\n");
    }
    MPI_Finalize();
    exit(0);
}

void bench_options_parse(bench_options_t *options, int argc, char **argv)
{
    static const struct option table[] = {
        {"size", required_argument, NULL, 's'},
        {"window", required_argument, NULL, 'w'},
        {"bidir", no_argument, NULL, 'b'},
        {"get", no_argument, NULL, 'g'},
        {"check", required_argument, NULL, 'c'},
        {"warmup", required_argument, NULL, 'u'},
        {"time", required_argument, NULL, 't'},
        {"min-iters", required_argument, NULL, 'i'},
        {"skew", required_argument, NULL, 'k'},
        {"hotspot", required_argument, NULL, 'h'},
        {"tokens", required_argument, NULL, 'n'},
        {"experts", required_argument, NULL, 'e'},
        {"topk", required_argument, NULL, 'p'},
        {"at", required_argument, NULL, 'a'},
        {"bursts", required_argument, NULL, 'r'},
        {"pause", required_argument, NULL, 'd'},
        {"gpu", no_argument, NULL, 'G'},
        {"alltoall", no_argument, NULL, 'A'},
        {"ialltoallv", no_argument, NULL, 'v'},
        {"moe", no_argument, NULL, 'm'},
        {"look", required_argument, NULL, 'l'},
        {"work", no_argument, NULL, 'W'},
        {"sizes", required_argument, NULL, 'S'},
        {"in-flight", required_argument, NULL, 'f'},
        {"help", no_argument, NULL, 'H'},
        {NULL, 0, NULL, 0}
    };
    int opt;

    options->size       = 8;
    options->window     = 64;
    options->bidir      = 0;
    options->get        = 0;
    options->check      = 2;
    options->warmup     = 0.2;
    options->time       = 2.0;
    options->min_iters  = 1;
    options->skew       = 0;
    options->hotspot    = 0;
    options->tokens     = 256;
    options->experts    = 4;
    options->topk       = 2;
    options->at         = 0;
    options->bursts     = 10;
    options->pause      = 0.1;
    options->gpu        = 0;
    options->alltoall   = 0;
    options->ialltoallv = 0;
    options->moe        = 0;
    options->look       = 0.002;
    options->work       = 0;
    options->num_sizes  = 0;
    options->in_flight  = 0;

    while ((opt = getopt_long(argc, argv, "", table, NULL)) != -1) {
        switch (opt) {
        case 's':
            options->size = bench_number("size", optarg, 1, 1e9);
            break;
        case 'w':
            options->window = bench_number("window", optarg, 1, 4096);
            break;
        case 'b':
            options->bidir = 1;
            break;
        case 'g':
            options->get = 1;
            break;
        case 'c':
            options->check = bench_number("check", optarg, 0, 1e6);
            break;
        case 'u':
            options->warmup = bench_number("warmup", optarg, 0, 600);
            break;
        case 't':
            options->time = bench_number("time", optarg, 0, 600);
            break;
        case 'i':
            options->min_iters = bench_number("min-iters", optarg, 1, 1e9);
            break;
        case 'k':
            options->skew = bench_number("skew", optarg, 0, 4);
            break;
        case 'h':
            options->hotspot = bench_number("hotspot", optarg, 0, 1);
            break;
        case 'n':
            options->tokens = bench_number("tokens", optarg, 1, 1e6);
            break;
        case 'e':
            options->experts = bench_number("experts", optarg, 1, 1024);
            break;
        case 'p':
            options->topk = bench_number("topk", optarg, 1, 64);
            break;
        case 'a':
            options->at = bench_number("at", optarg, 0, 1e11);
            break;
        case 'r':
            options->bursts = bench_number("bursts", optarg, 1, 1000);
            break;
        case 'd':
            options->pause = bench_number("pause", optarg, 0.01, 60);
            break;
        case 'G':
            options->gpu = 1;
            break;
        case 'A':
            options->alltoall = 1;
            break;
        case 'v':
            options->ialltoallv = 1;
            break;
        case 'm':
            options->moe = 1;
            break;
        case 'W':
            options->work = 1;
            break;
        case 'l':
            options->look = bench_number("look", optarg, 0, 60);
            break;
        case 'S':
            bench_options_sizes(options, optarg);
            break;
        case 'f':
            options->in_flight = bench_number("in-flight", optarg, 1, 1e9);
            break;
        case 'H':
            bench_help(argv[0], table);
            break;
        default:
            bench_fail("bad option in the command line of", argv[0]);
        }
    }

    if (optind != argc) {
        bench_fail("unexpected argument", argv[optind]);
    }
    if ((options->skew > 0) && (options->hotspot > 0)) {
        bench_fail("--skew and --hotspot exclude each other in", argv[0]);
    }
    if (options->alltoall &&
        ((options->skew > 0) || (options->hotspot > 0) || options->gpu)) {
        bench_fail("--alltoall excludes --skew, --hotspot and --gpu in",
                   argv[0]);
    }
    if (options->ialltoallv && options->moe) {
        bench_fail("--ialltoallv and --moe exclude each other in", argv[0]);
    }
    options->max_window = options->window;
    if (options->num_sizes == 0) {
        options->sizes[options->num_sizes++] = options->size;
    }
    if (options->gpu) {
        bench_memory_use_gpu();
    }
}

void *bench_buffer(size_t size, int fill)
{
    void *buffer;

    if (posix_memalign(&buffer, 4096, (size == 0) ? 1 : size) != 0) {
        bench_fail("no memory for a buffer of", "the message size");
    }

    memset(buffer, fill, size);
    return buffer;
}

/* One 64-bit word of the pattern: a mix in which neighbouring inputs have
 * nothing in common (the finaliser of a well known 64-bit hash). */
static uint64_t bench_pattern_word(uint64_t key, uint64_t index)
{
    uint64_t x = key ^ (index * 0x9e3779b97f4a7c15ull);

    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdull;
    x ^= x >> 33;
    x *= 0xc4ceb9fe1a85ec53ull;
    x ^= x >> 33;
    return x;
}

static uint64_t bench_pattern_key(int src, int dst, unsigned seq)
{
    return ((uint64_t)(unsigned)src << 48) ^ ((uint64_t)(unsigned)dst << 32) ^
           seq;
}

void bench_pattern_fill(void *data, size_t size, int src, int dst,
                        unsigned seq)
{
    uint64_t key = bench_pattern_key(src, dst, seq);
    void *buffer = bench_memory_is_gpu() ? bench_buffer(size, 0) : data;
    size_t offset, length;
    uint64_t word;

    for (offset = 0; offset < size; offset += length) {
        word   = bench_pattern_word(key, offset / sizeof(word));
        length = (size - offset < sizeof(word)) ? size - offset : sizeof(word);
        memcpy((char*)buffer + offset, &word, length);
    }

    if (buffer != data) {
        bench_data_write(data, buffer, size);
        free(buffer);
    }
}

void bench_pattern_check(const void *data, size_t size, int src, int dst,
                         unsigned seq)
{
    uint64_t key       = bench_pattern_key(src, dst, seq);
    void *copy         = bench_memory_is_gpu() ? bench_buffer(size, 0) : NULL;
    const void *buffer = (copy != NULL) ? copy : data;
    size_t offset, length;
    uint64_t word;

    if (copy != NULL) {
        bench_data_read(copy, data, size);
    }

    for (offset = 0; offset < size; offset += length) {
        word   = bench_pattern_word(key, offset / sizeof(word));
        length = (size - offset < sizeof(word)) ? size - offset : sizeof(word);
        if (memcmp((const char*)buffer + offset, &word, length) != 0) {
            fprintf(stderr,
                    "bench: wrong data from rank %d to rank %d in message %u"
                    " of %zu bytes, at offset %zu\n",
                    src, dst, seq, size, offset);
            MPI_Abort(MPI_COMM_WORLD, 3);
            exit(3);
        }
    }

    free(copy);
}

long bench_iterations(double seconds, double per_iter, int min_iters)
{
    double wanted = seconds / ((per_iter > 1e-9) ? per_iter : 1e-9) + 0.5;
    long iters    = (wanted > 1e9) ? 1000000000l : (long)wanted;

    if (iters < min_iters) {
        iters = min_iters;
    }

    MPI_Bcast(&iters, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    return iters;
}

double bench_repeat(void (*once)(void *arg), void *arg, long count)
{
    double start, elapsed;
    long i;

    MPI_Barrier(MPI_COMM_WORLD);
    start = MPI_Wtime();
    for (i = 0; i < count; ++i) {
        once(arg);
    }
    elapsed = MPI_Wtime() - start;
    MPI_Allreduce(MPI_IN_PLACE, &elapsed, 1, MPI_DOUBLE, MPI_MAX,
                  MPI_COMM_WORLD);
    return elapsed;
}

double bench_measure(const bench_options_t *options, void (*once)(void *arg),
                     void *arg, long *count, long *total)
{
    double elapsed = bench_repeat(once, arg, 1);
    long warm      = bench_iterations(options->warmup - elapsed, elapsed, 0);

    *total += 1;
    if (warm > 0) {
        elapsed  = bench_repeat(once, arg, warm) / warm;
        *total  += warm;
    }

    *count  = bench_iterations(options->time, elapsed, options->min_iters);
    *total += *count;
    return bench_repeat(once, arg, *count);
}

static int bench_compare(const void *a, const void *b)
{
    double left  = *(const double*)a;
    double right = *(const double*)b;

    return (left > right) - (left < right);
}

void bench_sort(double *values, size_t count)
{
    qsort(values, count, sizeof(*values), bench_compare);
}

double bench_quantile(const double *sorted, size_t count, double fraction)
{
    return sorted[(size_t)(fraction * (count - 1) + 0.5)];
}

int *bench_host_index(int *hosts)
{
    char name[MPI_MAX_PROCESSOR_NAME] = "";
    int length, ranks, rank, other;
    char *names;
    int *index;

    MPI_Get_processor_name(name, &length);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    names = bench_buffer((size_t)ranks * sizeof(name), 0);
    index = bench_buffer((size_t)ranks * sizeof(*index), 0);
    MPI_Allgather(name, sizeof(name), MPI_CHAR, names, sizeof(name), MPI_CHAR,
                  MPI_COMM_WORLD);

    *hosts = 0;
    for (rank = 0; rank < ranks; ++rank) {
        for (other = 0; other < rank; ++other) {
            if (!strcmp(names + rank * sizeof(name),
                        names + other * sizeof(name))) {
                break;
            }
        }
        index[rank] = (other < rank) ? index[other] : (*hosts)++;
    }

    free(names);
    return index;
}

void bench_traffic_init(bench_traffic_t *traffic)
{
    size_t ranks;

    MPI_Comm_size(MPI_COMM_WORLD, &traffic->ranks);
    ranks          = traffic->ranks;
    traffic->host  = bench_host_index(&traffic->hosts);
    traffic->bytes = bench_buffer(ranks * ranks * sizeof(*traffic->bytes), 0);
}

void bench_traffic_cleanup(bench_traffic_t *traffic)
{
    free(traffic->bytes);
    free(traffic->host);
}

/* Bytes from host `from` to host `to`, of rank `src` to rank `dst`; a negative
 * number is any, and a pair on one host does not count unless it is asked
 * for. */
static double bench_traffic_sum(const bench_traffic_t *traffic, int from,
                                int to, int src, int dst)
{
    double sum = 0;
    int s, d;

    for (s = 0; s < traffic->ranks; ++s) {
        for (d = 0; d < traffic->ranks; ++d) {
            if (((from < 0) || (traffic->host[s] == from)) &&
                ((to < 0) || (traffic->host[d] == to)) &&
                ((src < 0) || (s == src)) && ((dst < 0) || (d == dst)) &&
                ((traffic->host[s] != traffic->host[d]) ||
                 ((from >= 0) && (from == to)))) {
                sum += traffic->bytes[s * traffic->ranks + d];
            }
        }
    }

    return sum;
}

void bench_traffic_crossing(const bench_traffic_t *traffic, double *all,
                            double *busiest)
{
    int host;

    *all     = bench_traffic_sum(traffic, -1, -1, -1, -1);
    *busiest = 0;
    for (host = 0; host < traffic->hosts; ++host) {
        *busiest = fmax(*busiest,
                        fmax(bench_traffic_sum(traffic, host, -1, -1, -1),
                             bench_traffic_sum(traffic, -1, host, -1, -1)));
    }
}

void bench_traffic_print(const bench_traffic_t *traffic, const char *name)
{
    int src, dst, rank;

    printf("{\"name\": \"%s\", \"demands\": [", name);
    for (src = 0; src < traffic->hosts; ++src) {
        for (dst = 0; dst < traffic->hosts; ++dst) {
            printf("%s%.0f", (dst == 0) ? ((src == 0) ? "[" : ", [") : ", ",
                   bench_traffic_sum(traffic, src, dst, -1, -1));
        }
        printf("]");
    }
    printf("], \"ranks\": [");
    for (rank = 0; rank < traffic->ranks; ++rank) {
        printf("%s{\"host\": %d, \"tx\": %.0f, \"rx\": %.0f}",
               (rank == 0) ? "" : ", ", traffic->host[rank],
               bench_traffic_sum(traffic, -1, -1, rank, -1),
               bench_traffic_sum(traffic, -1, -1, -1, rank));
    }
    printf("]}");
}

double bench_begin(const bench_options_t *options, const char *program)
{
    double begin = (options->at > 0) ? options->at : bench_clock() + 0.1;
    double left;

    MPI_Bcast(&begin, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    left = begin - bench_clock();
    if (left < 0) {
        fprintf(stderr, "bench: %s: ready %.1f s after --at; start it"
                " earlier\n", program, -left);
        MPI_Abort(MPI_COMM_WORLD, 2);
        exit(2);
    }
    bench_sleep_until(begin);
    return begin;
}

void bench_sleep_until(double when)
{
    double left = when - bench_clock();
    struct timespec pause;

    if (left > 0) {
        pause.tv_sec  = (time_t)left;
        pause.tv_nsec = (long)((left - pause.tv_sec) * 1e9);
        nanosleep(&pause, NULL);
    }
}

double bench_clock(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}
