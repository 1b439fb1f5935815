/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_BENCH_NIC_FILE_H
#define FUSELINK_BENCH_NIC_FILE_H

#include <stdio.h>
#include <unistd.h>

/* Where the bytes of a NIC are counted, `way` "rx" or "tx": of this host, or of the
 * first network namespace, in which soft-RoCE's NICs of all hosts are. */
static inline void bench_nic_file(char *path, size_t size, const char *nic,
                                  const char *way)
{
    snprintf(path, size, "/sys/class/net/%s/statistics/%s_bytes", nic, way);
    if (access(path, R_OK) != 0) {
        snprintf(path, size,
                 "/proc/1/root/sys/class/net/%s/statistics/%s_bytes", nic, way);
    }
}

#endif
