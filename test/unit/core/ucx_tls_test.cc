/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "config/ucx_tls.h"

#include <gtest/gtest.h>

namespace {

bool may(const char *setting)
{
    return fuselink::ucx_may_enable(setting, {"all", "cuda", "cuda_copy"});
}

TEST(UcxTls, EverythingUnlessSaid)
{
    EXPECT_TRUE(may(nullptr));
    EXPECT_TRUE(may("all"));
    EXPECT_TRUE(may("^tcp"));
}

TEST(UcxTls, ByNameOrGroup)
{
    EXPECT_TRUE(may("fuselink,cuda_copy"));
    EXPECT_TRUE(may("cuda,fuselink"));
    EXPECT_TRUE(may("fuselink,\\cuda_copy,self"));
    EXPECT_TRUE(may("fuselink,cuda_copy:aux"));
}

TEST(UcxTls, NotOthers)
{
    EXPECT_FALSE(may("fuselink"));
    EXPECT_FALSE(may(""));
    EXPECT_FALSE(may("fuselink,cuda_ipc"));
    EXPECT_FALSE(may("cuda_copying,sm,"));
}

} // namespace
