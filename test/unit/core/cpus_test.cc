/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "ucs_ext/cpus.h"

#include <gtest/gtest.h>
#include <string>
#include <sys/resource.h>
#include <thread>

namespace fuselink {
namespace {

CpuSet of(std::initializer_list<size_t> cpus)
{
    CpuSet set;
    for (size_t cpu : cpus) {
        set.set(cpu);
    }
    return set;
}

TEST(Cpus, AreReadAsTheKernelWritesThem)
{
    EXPECT_EQ(cpus_in(""), CpuSet());
    EXPECT_EQ(cpus_in("0"), of({0}));
    EXPECT_EQ(cpus_in("0-3,8"), of({0, 1, 2, 3, 8}));
    EXPECT_EQ(cpus_in("5,7-8,1023"), of({5, 7, 8, 1023}));
    EXPECT_EQ(cpus_in("0-1023"), ~CpuSet());
}

TEST(Cpus, SlurmSaysHowManyProcessesANodeHas)
{
    EXPECT_EQ(tasks_of_node("8", 0), 8u);
    EXPECT_EQ(tasks_of_node("2(x3),1", 0), 2u);
    EXPECT_EQ(tasks_of_node("2(x3),1", 2), 2u);
    EXPECT_EQ(tasks_of_node("2(x3),1", 3), 1u);
    EXPECT_EQ(tasks_of_node("2(x3),1", 4), 0u);
    EXPECT_EQ(tasks_of_node("16(x2),4,128(x10)", 12), 128u);
    EXPECT_EQ(tasks_of_node("", 0), 0u);
    EXPECT_EQ(tasks_of_node("x,2", 1), 0u);
    EXPECT_EQ(tasks_of_node("2(", 0), 2u);
    EXPECT_EQ(tasks_of_node("2(x", 1), 0u);
}

TEST(Cpus, NonsenseIsLeftOut)
{
    EXPECT_EQ(cpus_in("x,2,-,3-,4-y,,6"), of({2, 6}));
    EXPECT_EQ(cpus_in("1024"), CpuSet());
    EXPECT_EQ(cpus_in("1022-99999999999"), of({1022, 1023}));
    EXPECT_EQ(cpus_in("99999999999999999999999999"), CpuSet());
    EXPECT_EQ(cpus_in("7-5"), CpuSet());
    for (unsigned seed = 0; seed < 10'000; ++seed) {
        std::string text;
        for (unsigned i = 0, state = seed; i < seed % 16; ++i) {
            state = state * 1'103'515'245 + 12'345;
            text += "0123456789-,"[(state >> 16) % 12];
        }
        cpus_in(text);
    }
}

/* A thread may leave what it was bound to, but not what its cgroup has. */
TEST(Cpus, AThreadIsBoundAndAllAreStillKnown)
{
    std::thread([] {
        Cpus        &cpus = Cpus::real();
        const CpuSet all  = cpus.allowed();
        ASSERT_TRUE(all.any());
        const CpuSet one = of({all._Find_first()});
        ASSERT_TRUE(cpus.bind(one));
        EXPECT_EQ(cpus.own(), one);
        EXPECT_EQ(cpus.allowed(), all);
        EXPECT_EQ(cpus.with_siblings(one) & one, one);
        EXPECT_EQ(cpus.near(one) & one, one);
        EXPECT_GT(cpus.quota(), 0);
        EXPECT_FALSE(cpus.bind({}));
        EXPECT_EQ(cpus.own(), one);
    }).join();
}

/* It alone: the process has threads that do not. */
TEST(Cpus, AThreadGivesWay)
{
    const int before = getpriority(PRIO_PROCESS, 0);
    std::thread([&] {
        EXPECT_TRUE(Cpus::real().give_way(3));
        EXPECT_EQ(getpriority(PRIO_PROCESS, 0), std::min(before + 3, 19));
        EXPECT_TRUE(Cpus::real().give_way(40)); /* as far as there is */
        EXPECT_EQ(getpriority(PRIO_PROCESS, 0), 19);
    }).join();
    EXPECT_EQ(getpriority(PRIO_PROCESS, 0), before);
}

} // namespace
} // namespace fuselink
