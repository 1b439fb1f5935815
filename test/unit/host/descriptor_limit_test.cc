/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "host/descriptor_limit.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <sys/resource.h>

namespace fuselink {
namespace {

rlimit limit_now()
{
    rlimit limit{};
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
    return limit;
}

TEST(DescriptorLimit, IsRaisedAsFarAsItGoesAndNeverLowered)
{
    const rlimit before = limit_now();
    rlimit       few    = before;
    few.rlim_cur        = std::min<rlim_t>(before.rlim_max, 256);
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    raise_descriptor_limit();
    const rlimit raised = limit_now();
    EXPECT_EQ(raised.rlim_cur, std::min<rlim_t>(before.rlim_max, kMostDescriptors));
    EXPECT_EQ(raised.rlim_max, before.rlim_max);

    rlimit many   = before;
    many.rlim_cur = before.rlim_max;
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &many), 0);
    raise_descriptor_limit();
    EXPECT_EQ(limit_now().rlim_cur, before.rlim_max);
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

} // namespace
} // namespace fuselink
