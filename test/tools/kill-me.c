/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* Sends some long messages; then rank 0 kills itself. */

#include <mpi.h>
#include <signal.h>
#include <stdlib.h>

enum { SIZE = 1000000, ROUNDS = 8 };

int main(int argc, char **argv)
{
    int rank, size, i;
    char *out, *in;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    out = calloc(size, SIZE);
    in  = calloc(size, SIZE);
    for (i = 0; i < ROUNDS; ++i) {
        MPI_Alltoall(out, SIZE, MPI_CHAR, in, SIZE, MPI_CHAR, MPI_COMM_WORLD);
    }
    if (rank == 0) {
        raise(SIGKILL);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
