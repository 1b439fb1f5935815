/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/*
 * What an MPI program does, with every byte checked: point to point of sizes
 * that cross each protocol switch, unexpected receives, alltoallv of unequal
 * sizes, one-sided put, get and accumulate, and if asked for, all of it from
 * several threads, or puts and gets to a rank that makes no MPI call meanwhile,
 * which only a NIC that does them itself can end. Exit status 0 if all data was
 * right.
 *
 * usage: exchange [p2p|alltoallv|rma|threads|asleep|all [ROUNDS]]
 *
 * ROUNDS (4) is how often alltoallv is called.
 */

#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size, errors, rounds = 4;

static unsigned char pattern(int from, int to, int round, size_t i)
{
    return (unsigned char)(from * 31 + to * 17 + round * 7 + i + (i >> 8));
}

static void fill(unsigned char *p, size_t n, int from, int to, int round)
{
    for (size_t i = 0; i < n; ++i) {
        p[i] = pattern(from, to, round, i);
    }
}

static void check(const char *what, const unsigned char *p, size_t n,
                  int from, int to, int round)
{
    for (size_t i = 0; i < n; ++i) {
        if (p[i] != pattern(from, to, round, i)) {
            fprintf(stderr, "rank %d: %s: byte %zu of %zu from %d is %d\n",
                    rank, what, i, n, from, p[i]);
            __atomic_add_fetch(&errors, 1, __ATOMIC_RELAXED);
            return;
        }
    }
}

static void p2p(void)
{
    static const size_t sizes[] = {0,    1,     7,      8,       100,
                                   2000, 8192,  8193,   65536,   100001,
                                   262144, 1000003, 4194304};
    const size_t largest = 4194304;
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    unsigned char *out = malloc(largest + 1), *in = malloc(largest + 1);

    for (int round = 0; round < 2; ++round) {
        for (size_t k = 0; k < sizeof(sizes) / sizeof(*sizes); ++k) {
            size_t n = sizes[k];
            MPI_Request request;
            fill(out, n, rank, to, round);
            memset(in, 0, n);
            MPI_Isend(out, (int)n, MPI_BYTE, to, 1, MPI_COMM_WORLD, &request);
            if (round == 1) {
                MPI_Barrier(MPI_COMM_WORLD); /* now it is unexpected */
            }
            MPI_Recv(in, (int)n, MPI_BYTE, from, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            check("point to point", in, n, from, rank, round);
        }
    }

    /* Order: many small messages with one tag must not overtake, nor the
     * large one between them. */
    enum { kMany = 400 };
    MPI_Request requests[kMany];
    int *numbers = malloc(kMany * sizeof(*numbers));
    for (int i = 0; i < kMany; ++i) {
        numbers[i] = i;
        int n = i == kMany / 2 ? (int)largest : (int)sizeof(int);
        MPI_Isend(n == (int)sizeof(int) ? (void *)&numbers[i] : (void *)out, n,
                  MPI_BYTE, to, 2, MPI_COMM_WORLD, &requests[i]);
    }
    for (int i = 0; i < kMany; ++i) {
        MPI_Status status;
        int n, got = -1;
        MPI_Probe(from, 2, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_BYTE, &n);
        if (n == (int)sizeof(int)) {
            MPI_Recv(&got, n, MPI_BYTE, from, 2, MPI_COMM_WORLD, &status);
        } else {
            MPI_Recv(in, n, MPI_BYTE, from, 2, MPI_COMM_WORLD, &status);
            got = kMany / 2;
        }
        if (got != i) {
            fprintf(stderr, "rank %d: message %d came as number %d\n", rank,
                    got, i);
            ++errors;
            break;
        }
    }
    MPI_Waitall(kMany, requests, MPI_STATUSES_IGNORE);
    free(numbers);
    free(out);
    free(in);
}

static void alltoallv(void)
{
    int *counts = malloc(size * sizeof(int)), *displs = malloc(size * sizeof(int));
    int *rcounts = malloc(size * sizeof(int)), *rdispls = malloc(size * sizeof(int));
    for (int round = 0; round < rounds; ++round) {
        int total = 0, rtotal = 0;
        for (int r = 0; r < size; ++r) {
            counts[r]  = ((rank * 7 + r * 3 + round) % 5) * 150001;
            rcounts[r] = ((r * 7 + rank * 3 + round) % 5) * 150001;
            displs[r]  = total;
            rdispls[r] = rtotal;
            total     += counts[r];
            rtotal    += rcounts[r];
        }
        unsigned char *out = malloc(total + 1), *in = calloc(rtotal + 1, 1);
        for (int r = 0; r < size; ++r) {
            fill(out + displs[r], counts[r], rank, r, round);
        }
        MPI_Alltoallv(out, counts, displs, MPI_BYTE, in, rcounts, rdispls,
                      MPI_BYTE, MPI_COMM_WORLD);
        for (int r = 0; r < size; ++r) {
            check("alltoallv", in + rdispls[r], rcounts[r], r, rank, round);
        }
        free(out);
        free(in);
    }
    free(counts);
    free(displs);
    free(rcounts);
    free(rdispls);
}

static void rma(void)
{
    enum { kBytes = 1500001 };
    unsigned char *base, *local = malloc(kBytes);
    long *counter;
    MPI_Win window, counter_window;
    int to = (rank + 1) % size, from = (rank + size - 1) % size;

    MPI_Win_allocate(kBytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
    MPI_Win_allocate(sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD,
                     &counter, &counter_window);
    for (int round = 0; round < 4; ++round) {
        size_t n = round % 2 ? kBytes : 1003;
        fill(local, n, rank, to, round);
        memset(base, 0, kBytes);
        MPI_Win_fence(0, window);
        MPI_Put(local, (int)n, MPI_BYTE, to, 0, (int)n, MPI_BYTE, window);
        MPI_Win_fence(0, window);
        check("put", base, n, from, rank, round);
        MPI_Barrier(MPI_COMM_WORLD);

        memset(local, 0, n);
        MPI_Win_lock(MPI_LOCK_SHARED, to, 0, window);
        MPI_Get(local, (int)n, MPI_BYTE, to, 0, (int)n, MPI_BYTE, window);
        MPI_Win_unlock(to, window);
        check("get", local, n, rank, to, round);
        MPI_Barrier(MPI_COMM_WORLD);
    }

    *counter = 0;
    MPI_Win_fence(0, counter_window);
    for (int i = 0; i < 30; ++i) {
        long one = 1;
        MPI_Accumulate(&one, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM,
                       counter_window);
    }
    MPI_Win_fence(0, counter_window);
    if (rank == 0 && *counter != 30l * size) {
        fprintf(stderr, "accumulate: %ld, not %ld\n", *counter, 30l * size);
        ++errors;
    }
    MPI_Win_free(&counter_window);
    MPI_Win_free(&window);
    free(local);
}

static void asleep(void)
{
    static const size_t sizes[] = {8, 1003, 8193, 100001, 4000000};
    enum { kCount = sizeof(sizes) / sizeof(*sizes), kArea = 5000000 };
    enum { kWarmUp = 2000000, kSeconds = 40 };
    int other = 1 - rank;
    unsigned char *base, *local = malloc(kArea);
    MPI_Win window;

    MPI_Win_allocate(2 * kArea + 1, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base,
                     &window);
    /* Connections are made with the help of both. */
    for (int i = 0; i < 3; ++i) {
        MPI_Win_fence(0, window);
        MPI_Put(local, kWarmUp, MPI_BYTE, other, 0, kWarmUp, MPI_BYTE, window);
        MPI_Win_fence(0, window);
        MPI_Get(local, kWarmUp, MPI_BYTE, other, kArea, kWarmUp, MPI_BYTE,
                window);
    }
    MPI_Win_fence(0, window);
    memset(base, 0, 2 * kArea + 1);
    fill(base + kArea, kArea, rank, 1, 5);
    MPI_Barrier(MPI_COMM_WORLD);

    if (rank == 0) {
        unsigned char done = 1;
        size_t at = 0;
        MPI_Win_lock_all(MPI_MODE_NOCHECK, window);
        for (int i = 0; i < kCount; at += sizes[i], ++i) {
            fill(local, sizes[i], 0, 1, i);
            MPI_Put(local, (int)sizes[i], MPI_BYTE, 1, at, (int)sizes[i],
                    MPI_BYTE, window);
            MPI_Win_flush(1, window);
        }
        memset(local, 0, kArea);
        MPI_Get(local, kArea, MPI_BYTE, 1, kArea, kArea, MPI_BYTE, window);
        MPI_Win_flush(1, window);
        check("get of memory of a rank asleep", local, kArea, 1, 1, 5);
        MPI_Put(&done, 1, MPI_BYTE, 1, 2 * kArea, 1, MPI_BYTE, window);
        MPI_Win_flush(1, window);
        MPI_Win_unlock_all(window);
    } else {
        volatile unsigned char *done = base + 2 * kArea;
        size_t at = 0;
        for (int i = 0; !*done && i < kSeconds * 100; ++i) {
            usleep(10000);
        }
        if (!*done) {
            fprintf(stderr, "puts and gets do not end within %d s while their "
                    "target sleeps\n", kSeconds);
            ++errors;
        }
        for (int i = 0; i < kCount; at += sizes[i], ++i) {
            check("put while asleep", base + at, sizes[i], 0, 1, i);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&window);
    free(local);
}

static void *thread_main(void *arg)
{
    int tag = 100 + (int)(intptr_t)arg;
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    const size_t n = 700001;
    unsigned char *out = malloc(n), *in = malloc(n);
    for (int round = 0; round < 8; ++round) {
        size_t length = round % 2 ? n : 333;
        fill(out, length, rank, to, tag + round);
        MPI_Sendrecv(out, (int)length, MPI_BYTE, to, tag, in, (int)length,
                     MPI_BYTE, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        check("threads", in, length, from, rank, tag + round);
    }
    free(out);
    free(in);
    return NULL;
}

static void threads(void)
{
    enum { kThreads = 3 };
    pthread_t ids[kThreads];
    for (int i = 0; i < kThreads; ++i) {
        pthread_create(&ids[i], NULL, thread_main, (void *)(intptr_t)i);
    }
    for (int i = 0; i < kThreads; ++i) {
        pthread_join(ids[i], NULL);
    }
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "all";
    int all = strcmp(what, "all") == 0, with_threads, total, provided;

    with_threads = strcmp(what, "threads") == 0;
    if (argc > 2) {
        rounds = atoi(argv[2]);
    }
    MPI_Init_thread(&argc, &argv,
                    with_threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
                    &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (with_threads && provided < MPI_THREAD_MULTIPLE) {
        fprintf(stderr, "no MPI_THREAD_MULTIPLE\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (all || strcmp(what, "p2p") == 0) {
        p2p();
    }
    if (all || strcmp(what, "alltoallv") == 0) {
        alltoallv();
    }
    if (all || strcmp(what, "rma") == 0) {
        rma();
    }
    if (with_threads) {
        threads();
    }
    if (strcmp(what, "asleep") == 0) {
        if (size != 2) {
            fprintf(stderr, "asleep needs 2 ranks\n");
            MPI_Abort(MPI_COMM_WORLD, 2);
        }
        asleep();
    }
    MPI_Allreduce(&errors, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("%s: %d errors\n", what, total);
    }
    MPI_Finalize();
    return total != 0;
}
