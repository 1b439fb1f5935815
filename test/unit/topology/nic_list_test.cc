/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "ucs_ext/topology/nic_list.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

namespace fuselink::topology {
namespace {

namespace fs = std::filesystem;

/* The rates and the parents, which no library gives. */
TEST(NicList, ReadsWhatTheKernelSays)
{
    char name[] = "/tmp/fuselink-nics-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    const fs::path root  = name;
    auto           write = [&](const fs::path &file, const char *text) {
        fs::create_directories((root / "class" / file).parent_path());
        std::ofstream(root / "class" / file) << text << '\n';
    };
    write("infiniband/mlx5_0/ports/1/rate", "200 Gb/sec (4X HDR)");
    write("infiniband/rxe0/parent", "veth1");
    write("net/eth0/type", "1");
    write("net/eth0/speed", "-1");
    write("net/veth1/type", "1");
    write("net/veth1/speed", "10000");
    write("net/lo/type", "772");
    auto nics = list_nics(root);
    fs::remove_all(root);
    ASSERT_EQ(nics.size(), 4u);
    EXPECT_EQ(nics[0].name, "mlx5_0");
    EXPECT_TRUE(nics[0].rdma);
    EXPECT_NEAR(nics[0].rate, 25e9, 1);
    EXPECT_EQ(nics[0].under, "");
    EXPECT_EQ(nics[1].name, "rxe0");
    EXPECT_EQ(nics[1].under, "veth1");
    EXPECT_EQ(nics[2].name, "eth0");
    EXPECT_FALSE(nics[2].rdma);
    EXPECT_EQ(nics[2].rate, 0);
    EXPECT_EQ(nics[3].name, "veth1");
    EXPECT_NEAR(nics[3].rate, 1.25e9, 1);
}

TEST(NicList, OfNothingIsNothing)
{
    EXPECT_TRUE(list_nics("/nonexistent").empty());
    EXPECT_TRUE(join_nics({}, PciTree()).empty());
}

TEST(NicList, JoinsADeviceWithItsInterface)
{
    PciTree   bus;
    PciDevice card;
    card.address   = {0, 4, 0, 0};
    card.numa_node = 1;
    card.rate      = 31e9;
    card.os_names  = {"ib0", "mlx5_0"};
    bus.devices.push_back(card);
    auto nics = join_nics({{.name = "mlx5_0", .rdma = true, .rate = 25e9},
                           {.name = "rxe0", .rdma = true, .under = "veth1"},
                           {.name = "eth0"},
                           {.name = "ib0"},
                           {.name = "veth1", .rate = 1e9}}, bus);
    ASSERT_EQ(nics.size(), 3u);
    EXPECT_EQ(nics[0].names, (std::vector<std::string>{"mlx5_0", "ib0"}));
    EXPECT_EQ(nics[0].rate, 25e9);
    EXPECT_EQ(nics[0].address, card.address);
    EXPECT_EQ(nics[0].numa_node, 1);
    EXPECT_EQ(nics[0].pcie, 31e9);
    /* Of a software device the kernel only says what it is put on. */
    EXPECT_EQ(nics[1].names, (std::vector<std::string>{"rxe0", "veth1"}));
    EXPECT_EQ(nics[1].rate, 1e9);
    EXPECT_FALSE(nics[1].address);
    EXPECT_EQ(nics[2].names, std::vector<std::string>{"eth0"});
}

} // namespace
} // namespace fuselink::topology
