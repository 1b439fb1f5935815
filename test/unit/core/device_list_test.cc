/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "config/device_list.h"

#include <gtest/gtest.h>

namespace {

using fuselink::DeviceList;
using fuselink::WeightList;

TEST(DeviceList, All)
{
    DeviceList list;
    std::string error;
    ASSERT_TRUE(DeviceList::parse("all", list, error));
    EXPECT_TRUE(list.allows("eth0"));
    EXPECT_FALSE(list.explicit_names());
}

TEST(DeviceList, Only)
{
    DeviceList list;
    std::string error;
    ASSERT_TRUE(DeviceList::parse("eth0, mlx5_0:1", list, error));
    EXPECT_TRUE(list.allows("eth0"));
    EXPECT_TRUE(list.allows("mlx5_0:1"));
    EXPECT_FALSE(list.allows("eth"));
    EXPECT_FALSE(list.allows("eth00"));
    EXPECT_TRUE(list.explicit_names());
}

TEST(DeviceList, Except)
{
    DeviceList list;
    std::string error;
    ASSERT_TRUE(DeviceList::parse("^mgmt0,docker0", list, error));
    EXPECT_FALSE(list.allows("mgmt0"));
    EXPECT_FALSE(list.allows("docker0"));
    EXPECT_TRUE(list.allows("eth0"));
    EXPECT_FALSE(list.explicit_names());
}

TEST(DeviceList, RefusesAndExplains)
{
    for (const char *text : {"", "^", "eth0,", ",eth0", "eth0,,eth1", "a b",
                             "eth0,^eth1", "all,eth0", "^all"}) {
        DeviceList list;
        std::string error;
        EXPECT_FALSE(DeviceList::parse(text, list, error)) << text;
        EXPECT_NE(error.find("accepted"), std::string::npos) << error;
    }
}

TEST(WeightList, Weights)
{
    WeightList list;
    std::string error;
    ASSERT_TRUE(WeightList::parse("eth0=2, mlx5_0:1=0.5", list, error));
    EXPECT_EQ(list.weight("eth0"), 2);
    EXPECT_EQ(list.weight("mlx5_0:1"), 0.5);
    EXPECT_EQ(list.weight("eth1"), 1);
    ASSERT_TRUE(WeightList::parse("", list, error));
    EXPECT_EQ(list.weight("eth0"), 1);
}

TEST(WeightList, RefusesAndExplains)
{
    for (const char *text : {"eth0", "eth0=", "=2", "eth0=0", "eth0=-1",
                             "eth0=nan", "eth0=inf", "eth0=2x", "eth0=1,"}) {
        WeightList list;
        std::string error;
        EXPECT_FALSE(WeightList::parse(text, list, error)) << text;
        EXPECT_NE(error.find("accepted"), std::string::npos) << error;
    }
}

} // namespace
