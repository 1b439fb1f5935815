/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "ucs_ext/progress_choice.h"

#include "../host/fake_host.h"

#include <gtest/gtest.h>

namespace fuselink {
namespace {

ProgressChoice chosen(FakeCpus &cpus, unsigned processes)
{
    cpus.processes = processes;
    return choose_progress(cpus);
}

TEST(ProgressChoice, IsAThreadUnlessVeryManyShareACpu)
{
    FakeCpus cpus; /* 8 of them */
    EXPECT_TRUE(chosen(cpus, 1).thread);
    EXPECT_TRUE(chosen(cpus, 64).thread);
    EXPECT_FALSE(chosen(cpus, 65).thread);
    EXPECT_EQ(chosen(cpus, 1).why, "1 process, 8 CPUs");
    EXPECT_EQ(chosen(cpus, 65).why, "65 processes, 8 CPUs");
    EXPECT_EQ(chosen(cpus, 0).why, "1 process, 8 CPUs"); /* nobody says */
    cpus.all = CpuSet(1);
    EXPECT_EQ(chosen(cpus, 4).why, "4 processes, 1 CPU");
    EXPECT_FALSE(chosen(cpus, 9).thread);
}

TEST(ProgressChoice, ACgroupMayHaveTimeForFewer)
{
    FakeCpus cpus;
    cpus.time = 0.5;
    EXPECT_TRUE(chosen(cpus, 4).thread);
    EXPECT_FALSE(chosen(cpus, 5).thread);
    EXPECT_EQ(chosen(cpus, 5).why, "5 processes, 8 CPUs with time for 0.50");
    cpus.time = 100;
    EXPECT_EQ(chosen(cpus, 5).why, "5 processes, 8 CPUs");
}

TEST(ProgressChoice, IsCrowdedWhereProcessesTakeTurns)
{
    FakeCpus cpus;
    EXPECT_FALSE(chosen(cpus, 8).crowded);
    EXPECT_TRUE(chosen(cpus, 9).crowded);
    cpus.time = 0.5;
    EXPECT_TRUE(chosen(cpus, 1).crowded);
}

/* Those of the process count where nobody says what its cgroup has. */
TEST(ProgressChoice, NobodyHasToKnowTheCgroup)
{
    FakeCpus cpus;
    cpus.all   = {};
    cpus.bound = CpuSet(3);
    EXPECT_TRUE(chosen(cpus, 16).thread);
    EXPECT_FALSE(chosen(cpus, 17).thread);
}

TEST(ProgressChoice, IsBesideAllThatAreBound)
{
    FakeCpus cpus;
    EXPECT_EQ(place_beside(cpus, CpuSet(0x01), CpuSet(0x0f), 4), CpuSet(0xf0));
    EXPECT_EQ(place_beside(cpus, CpuSet(0x01), CpuSet(), 0), CpuSet(0xfe));
    /* Nothing is left, or not for all. */
    EXPECT_EQ(place_beside(cpus, CpuSet(0x01), CpuSet(0xff), 8), CpuSet(0x01));
    EXPECT_EQ(place_beside(cpus, CpuSet(0xff), CpuSet(), 0), CpuSet(0xff));
    EXPECT_EQ(place_beside(cpus, CpuSet(0x01), CpuSet(0x0f), 5), CpuSet(0x01));
}

TEST(ProgressChoice, IsOnACoreThatNobodyUses)
{
    FakeCpus cpus;
    cpus.siblings_at = 4; /* 0 and 4 share a core */
    EXPECT_EQ(place_beside(cpus, CpuSet(0x01), CpuSet(0x03), 2), CpuSet(0xcc));
    /* Better on the other half of one that is used than on none. */
    EXPECT_EQ(place_beside(cpus, CpuSet(0x01), CpuSet(0x0f), 4), CpuSet(0xf0));
    EXPECT_EQ(place_beside(cpus, CpuSet(0x01), CpuSet(0x07), 3), CpuSet(0xf8));
}

TEST(ProgressChoice, IsNear)
{
    FakeCpus cpus;
    cpus.node = CpuSet(0x0f);
    EXPECT_EQ(place_beside(cpus, CpuSet(0x01), CpuSet(0x01), 1), CpuSet(0x0e));
    EXPECT_EQ(place_beside(cpus, CpuSet(0x10), CpuSet(0x10), 1), CpuSet(0xe0));
    /* But nearness is not all. */
    EXPECT_EQ(place_beside(cpus, CpuSet(0x01), CpuSet(0x0f), 4), CpuSet(0xf0));
}

} // namespace
} // namespace fuselink
