/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* usage: fan        Rank 0 sends 8 MB to each other rank at once, some times;
 *                   they check it.
 *        fan in     Each other rank R sends R x 8 MB to rank 0, which waits for
 *                   all. */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIZE = 8 << 20, ROUNDS = 6, MOST = 16 };

static unsigned char pattern(size_t at, int rank, int round)
{
    return (unsigned char)(at * 7 + (at >> 12) + rank * 31 + round * 101);
}

static void gather(int rank, int ranks)
{
    MPI_Request requests[MOST];
    size_t size = (size_t)SIZE * (rank == 0 ? ranks * ranks : rank);
    unsigned char *buffer = malloc(size), *to = buffer;
    int i, round;

    if (buffer == NULL) {
        fprintf(stderr, "fan: no memory\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }

    for (round = 0; round < ROUNDS; ++round, to = buffer) {
        buffer[size - 1] = pattern(size - 1, rank, round);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank != 0) {
            MPI_Send(buffer, (int)size, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
            continue;
        }
        for (i = 1; i < ranks; to += (size_t)SIZE * i, ++i) {
            MPI_Irecv(to, SIZE * i, MPI_BYTE, i, 0, MPI_COMM_WORLD,
                      &requests[i]);
        }
        MPI_Waitall(ranks - 1, requests + 1, MPI_STATUSES_IGNORE);
        for (i = 1, to = buffer; i < ranks; to += (size_t)SIZE * i, ++i) {
            size_t last = (size_t)SIZE * i - 1;
            if (to[last] != pattern(last, i, round)) {
                fprintf(stderr, "fan: rank %d, round %d: wrong last byte\n", i,
                        round);
                MPI_Abort(MPI_COMM_WORLD, 1);
            }
        }
    }
    free(buffer);
}

int main(int argc, char **argv)
{
    MPI_Request requests[MOST];
    unsigned char *buffer;
    int rank, ranks, i, round;
    size_t at;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks > MOST) {
        fprintf(stderr, "fan: at most %d ranks\n", MOST);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }

    buffer = malloc((size_t)SIZE * (rank == 0 ? ranks : 1));
    if (buffer == NULL) {
        fprintf(stderr, "fan: no memory\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }

    if (argc == 2) {
        gather(rank, ranks);
        free(buffer);
        MPI_Finalize();
        return 0;
    }

    for (round = 0; round < ROUNDS; ++round) {
        if (rank == 0) {
            for (i = 1; i < ranks; ++i) {
                for (at = 0; at < SIZE; ++at) {
                    buffer[i * (size_t)SIZE + at] = pattern(at, i, round);
                }
            }
        }
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) {
            for (i = 1; i < ranks; ++i) {
                MPI_Isend(buffer + i * (size_t)SIZE, SIZE, MPI_BYTE, i, 0,
                          MPI_COMM_WORLD, &requests[i]);
            }
            MPI_Waitall(ranks - 1, requests + 1, MPI_STATUSES_IGNORE);
            continue;
        }
        MPI_Recv(buffer, SIZE, MPI_BYTE, 0, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        for (at = 0; at < SIZE; ++at) {
            if (buffer[at] != pattern(at, rank, round)) {
                fprintf(stderr, "fan: rank %d, round %d: wrong byte at %zu\n",
                        rank, round, at);
                MPI_Abort(MPI_COMM_WORLD, 1);
            }
        }
    }

    free(buffer);
    MPI_Finalize();
    return 0;
}
