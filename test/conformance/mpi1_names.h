/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* MPI-3 removed some functions of MPI-1. The test suite's data type pools
 * still call them, and Open MPI's header turns each call into a compile-time
 * error. Their replacements take the same arguments. */

#ifndef FUSELINK_CONFORMANCE_MPI1_NAMES_H_
#define FUSELINK_CONFORMANCE_MPI1_NAMES_H_

#include <mpi.h>

#undef MPI_Type_hindexed
#undef MPI_Type_hvector
#undef MPI_Type_struct
#define MPI_Type_hindexed MPI_Type_create_hindexed
#define MPI_Type_hvector  MPI_Type_create_hvector
#define MPI_Type_struct   MPI_Type_create_struct

#endif
