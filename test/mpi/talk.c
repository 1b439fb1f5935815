/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* Small messages from rank 0 to rank 1, without an end. */

#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    int rank, number = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0;; ++i) {
        if (rank == 0) {
            MPI_Send(&number, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        } else {
            MPI_Recv(&number, 1, MPI_INT, 0, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        }
        if (i == 1000 && rank == 1) {
            puts("talking");
            fflush(stdout);
        }
    }
}
