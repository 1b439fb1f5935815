/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "host/descriptor_limit.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <sys/resource.h>

namespace fuselink {
namespace {

/* As it was, when this ends. */
class DescriptorLimit : public testing::Test {
protected:
    DescriptorLimit() : before_(now()) {}
    ~DescriptorLimit() override { setrlimit(RLIMIT_NOFILE, &before_); }

    static rlimit now()
    {
        rlimit limit{};
        EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
        return limit;
    }
    bool allow(rlim_t count)
    {
        rlimit limit   = before_;
        limit.rlim_cur = count;
        return setrlimit(RLIMIT_NOFILE, &limit) == 0;
    }

    const rlimit before_;
};

TEST_F(DescriptorLimit, IsRaisedAsFarAsItGoes)
{
    ASSERT_TRUE(allow(std::min<rlim_t>(before_.rlim_max, 256)));
    raise_descriptor_limit();
    EXPECT_EQ(now().rlim_cur, std::min<rlim_t>(before_.rlim_max, kMostDescriptors));
    EXPECT_EQ(now().rlim_max, before_.rlim_max);
}

TEST_F(DescriptorLimit, IsNeverLowered)
{
    ASSERT_TRUE(allow(before_.rlim_max));
    raise_descriptor_limit();
    EXPECT_EQ(now().rlim_cur, before_.rlim_max);
}

} // namespace
} // namespace fuselink
