/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "config/ucx_engine.h"

#include <cstdlib>
#include <gtest/gtest.h>

namespace {

bool with(const char *value)
{
    setenv("UCX_PROTO_ENABLE", value, 1);
    const bool enabled = fuselink::ucx_proto_enabled();
    unsetenv("UCX_PROTO_ENABLE");
    return enabled;
}

TEST(UcxEngine, AsTheSettingSays)
{
    EXPECT_FALSE(fuselink::ucx_proto_enabled());
    EXPECT_FALSE(with("n"));
    EXPECT_FALSE(with("no"));
    EXPECT_TRUE(with("y"));
    EXPECT_TRUE(with("try"));
}

} // namespace
