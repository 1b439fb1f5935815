/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/*
 * One stream: rank 0 sends messages to the last rank, which checks every one.
 * Prints "stream BYTES MB/S", and exits with the status given as argument.
 *
 * usage: stream MESSAGE_BYTES MESSAGES [EXIT_STATUS]
 */

#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned char pattern(size_t index, int message)
{
    return (unsigned char)(index * 31 + index / 4096 + message * 7);
}

int main(int argc, char **argv)
{
    unsigned char *buffer;
    size_t size, i;
    int rank, ranks, count, status, m;
    double start, seconds;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc < 3 || ranks < 2) {
        fprintf(stderr, "usage: stream MESSAGE_BYTES MESSAGES [EXIT_STATUS],"
                        " on two ranks or more\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }

    size   = strtoull(argv[1], NULL, 0);
    count  = atoi(argv[2]);
    status = (argc > 3) ? atoi(argv[3]) : 0;
    buffer = malloc(size);
    if (buffer == NULL) {
        MPI_Abort(MPI_COMM_WORLD, 2);
    }

    /* message -1 connects the ranks and is not timed */
    start = 0;
    for (m = -1; m < count; ++m) {
        if (m == 0) {
            MPI_Barrier(MPI_COMM_WORLD);
            start = MPI_Wtime();
        }
        if (rank == 0) {
            for (i = 0; i < size; ++i) {
                buffer[i] = pattern(i, m);
            }
            MPI_Send(buffer, size, MPI_BYTE, ranks - 1, 0, MPI_COMM_WORLD);
        } else if (rank == ranks - 1) {
            memset(buffer, 0, size);
            MPI_Recv(buffer, size, MPI_BYTE, 0, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
            for (i = 0; i < size; ++i) {
                if (buffer[i] != pattern(i, m)) {
                    fprintf(stderr, "message %d: wrong byte at %zu\n", m, i);
                    MPI_Abort(MPI_COMM_WORLD, 3);
                }
            }
        }
    }

    if (rank == ranks - 1) {
        seconds = MPI_Wtime() - start;
        printf("stream %zu %.2f\n", size * count, size * count / seconds / 1e6);
        fflush(stdout);
    }

    MPI_Barrier(MPI_COMM_WORLD);
    free(buffer);
    MPI_Finalize();
    return status;
}
