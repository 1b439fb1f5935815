/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* usage: load FILE SECONDS
 *
 * MPI_Alltoall of 256 kB to each rank until FILE is there, every byte checked;
 * an error if it is not within so many seconds. Once every rank has taken part,
 * the first one says "working". */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SIZE = 256 << 10 };

static unsigned char pattern(int src, int dst, int round, size_t at)
{
    return (unsigned char)(at * 5 + (at >> 9) + src * 17 + dst * 59 +
                           round * 113);
}

int main(int argc, char **argv)
{
    unsigned char *out, *in;
    int rank, ranks, i, more, round = 0;
    double begin, seconds = (argc == 3) ? atof(argv[2]) : 0;
    size_t at;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    out = malloc((size_t)SIZE * ranks);
    in  = malloc((size_t)SIZE * ranks);
    if ((seconds <= 0) || (out == NULL) || (in == NULL)) {
        fprintf(stderr, "usage: load FILE SECONDS\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }

    begin = MPI_Wtime();
    do {
        for (i = 0; i < ranks; ++i) {
            for (at = 0; at < SIZE; ++at) {
                out[i * (size_t)SIZE + at] = pattern(rank, i, round, at);
            }
        }
        MPI_Alltoall(out, SIZE, MPI_BYTE, in, SIZE, MPI_BYTE, MPI_COMM_WORLD);
        for (i = 0; i < ranks; ++i) {
            for (at = 0; at < SIZE; ++at) {
                if (in[i * (size_t)SIZE + at] != pattern(i, rank, round, at)) {
                    fprintf(stderr, "load: rank %d: wrong byte %zu from %d in"
                            " round %d\n", rank, at, i, round);
                    MPI_Abort(MPI_COMM_WORLD, 1);
                }
            }
        }
        if ((rank == 0) && (round == 0)) {
            printf("working\n");
            fflush(stdout);
        }
        round++;
        more = access(argv[1], F_OK) != 0;
        if (more && (MPI_Wtime() - begin > seconds)) {
            fprintf(stderr, "load: rank %d: no %s in %g s\n", rank, argv[1],
                    seconds);
            MPI_Abort(MPI_COMM_WORLD, 3);
        }
        MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    } while (more);

    if (rank == 0) {
        printf("%d rounds\n", round);
    }
    free(in);
    free(out);
    MPI_Finalize();
    return 0;
}
