/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_UNIT_TOPOLOGY_MACHINES_H
#define FUSELINK_TEST_UNIT_TOPOLOGY_MACHINES_H

#include "ucs_ext/topology/devices.h"
#include "ucs_ext/topology/file.h"

#include <gtest/gtest.h>
#include <string>

/* Machines as topology files describe them. */

inline std::string gpu_lines(unsigned count)
{
    std::string lines;
    for (unsigned i = 0; i < count; ++i) {
        lines += "gpu 0000:1" + std::to_string(i) + ":00.0\n";
    }
    return lines;
}

/* FuseLink's node: 8 GPUs, a NIC beside each, an NVSwitch. */
inline const std::string kFuselink8x8 =
    gpu_lines(8) +
    "nic nic0 100mbit\nnic nic1 100mbit\nnic nic2 100mbit\nnic nic3 100mbit\n"
    "nic nic4 100mbit\nnic nic5 100mbit\nnic nic6 100mbit\nnic nic7 100mbit\n"
    "pcie 13.75MB/s\nnvswitch 50MB/s\n"
    "near nic0 0\nnear nic1 1\nnear nic2 2\nnear nic3 3\n"
    "near nic4 4\nnear nic5 5\nnear nic6 6\nnear nic7 7\n"
    "numa 0 gpus 0-3\nnuma 0 nics nic0,nic1,nic2,nic3\n"
    "numa 1 gpus 4-7\nnuma 1 nics nic4,nic5,nic6,nic7\n";

/* NIMBLE's node: 4 GPUs with a link between any two, 4 NICs. */
inline const std::string kNimble4x4 =
    gpu_lines(4) +
    "nic nic0 200mbit\nnic nic1 200mbit\nnic nic2 200mbit\nnic nic3 200mbit\n"
    "pcie 27.5MB/s\nnvlink all 60MB/s\n"
    "near nic0 0\nnear nic1 1\nnear nic2 2\nnear nic3 3\n"
    "numa 0 gpus 0-1\nnuma 0 nics nic0,nic1\n"
    "numa 1 gpus 2-3\nnuma 1 nics nic2,nic3\n";

/* 8 GPUs share 2 NICs. */
inline const std::string kShared8x2 =
    gpu_lines(8) + "nic nic0 200mbit\nnic nic1 200mbit\n"
                   "pcie 27.5MB/s\nnvswitch 100MB/s\n"
                   "near nic0 0\nnear nic1 4\n"
                   "numa 0 gpus 0-3\nnuma 0 nics nic0\n"
                   "numa 1 gpus 4-7\nnuma 1 nics nic1\n";

inline fuselink::topology::Devices machine(const std::string &text)
{
    fuselink::topology::File    file;
    fuselink::topology::Devices devices;
    std::string                 error;
    EXPECT_TRUE(fuselink::topology::File::parse(text, file, error)) << error;
    EXPECT_TRUE(file.declare(devices, error)) << error;
    devices.number();
    EXPECT_TRUE(file.apply(devices, error)) << error;
    return devices;
}

#endif
