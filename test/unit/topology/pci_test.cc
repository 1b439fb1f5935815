/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "ucs_ext/topology/pci.h"
#include "ucs_ext/topology/pci_tree.h"

#include <gtest/gtest.h>

namespace fuselink::topology {
namespace {

TEST(PciAddress, ReadsWhatEverybodyWrites)
{
    for (const char *text : {"0000:3b:00.1", "00000000:3B:00.1", "3b:00.1",
                             "0:3b:0.1"}) {
        auto address = PciAddress::parse(text);
        ASSERT_TRUE(address) << text;
        EXPECT_EQ(address->text(), "0000:3b:00.1") << text;
    }
    EXPECT_EQ(PciAddress::parse("10000:01:1f.7")->text(), "10000:01:1f.7");
    EXPECT_EQ(PciAddress::parse("ffffffff:ff:1f.7")->domain, 0xffffffffu);
}

TEST(PciAddress, RefusesTheRest)
{
    for (const char *text :
         {"", ":", "0000:3b:00", "0000:3b:00.", "0000:3b:00.8", "0000:3b:20.0",
          "0000:3b:00.0 ", "0000:100:00.0", "123456789:00:00.0", "-1:00:00.0",
          "0000:3b:00.0.0", "3b.0", "pci0000:00", "0x0:3b:00.0"}) {
        EXPECT_FALSE(PciAddress::parse(text)) << text;
    }
}

TEST(PcieRate, CountsTheEncoding)
{
    EXPECT_NEAR(pcie_rate(2.5, 1), 250e6, 1);
    EXPECT_NEAR(pcie_rate(16, 16), 31.5e9, 0.1e9);
    EXPECT_NEAR(pcie_rate(32, 16), 63.0e9, 0.1e9);
    EXPECT_NEAR(pcie_rate(64, 16), 121.0e9, 0.1e9);
    EXPECT_EQ(pcie_rate(0, 16), 0);
    EXPECT_EQ(pcie_rate(16, 0), 0);
    EXPECT_EQ(pcie_rate(-1, 16), 0);
}

PciDevice device(unsigned bus, int numa, std::vector<std::string> bridges)
{
    PciDevice made;
    made.address   = {0, bus, 0, 0};
    made.numa_node = numa;
    made.bridges   = std::move(bridges);
    return made;
}

/* Root complex, root port, then a switch: a port up and one down for each. */
TEST(PciTree, HasTheWordsOfNvidia)
{
    PciTree tree;
    tree.numa_nodes = 2;
    auto gpu = device(0x10, 0, {"pci0000:00", "0000:00:01.0", "0000:01:00.0",
                                "0000:02:00.0"});
    auto to = [&](int numa, std::vector<std::string> bridges) {
        return tree.connection(gpu, device(0x20, numa, std::move(bridges)));
    };
    EXPECT_EQ(tree.connection(gpu, gpu), Connection::Self);
    EXPECT_EQ(to(0, {"pci0000:00", "0000:00:01.0", "0000:01:00.0",
                     "0000:02:01.0"}), Connection::Pix);
    /* Another function of the same card, beside the GPU. */
    EXPECT_EQ(to(0, {"pci0000:00", "0000:00:01.0", "0000:01:00.0",
                     "0000:02:00.0"}), Connection::Pix);
    /* A second switch behind the first. */
    EXPECT_EQ(to(0, {"pci0000:00", "0000:00:01.0", "0000:01:00.0",
                     "0000:02:01.0", "0000:05:00.0", "0000:06:00.0"}),
              Connection::Pxb);
    /* One bridge more than a switch has. */
    EXPECT_EQ(to(0, {"pci0000:00", "0000:00:01.0", "0000:01:00.0",
                     "0000:02:01.0", "0000:05:00.0"}), Connection::Pxb);
    EXPECT_EQ(to(0, {"pci0000:00", "0000:00:02.0"}), Connection::Phb);
    EXPECT_EQ(to(0, {"pci0000:40", "0000:40:01.0"}), Connection::Node);
    EXPECT_EQ(to(1, {"pci0000:80", "0000:80:01.0"}), Connection::Sys);
    EXPECT_EQ(to(-1, {"pci0000:80", "0000:80:01.0"}), Connection::Unknown);
}

TEST(PciTree, WithoutNumaAllIsOneNode)
{
    PciTree tree;
    tree.numa_nodes = 1;
    EXPECT_EQ(tree.connection(device(1, -1, {"pci0000:00"}),
                              device(2, -1, {"pci0000:40"})),
              Connection::Node);
}

TEST(PciTree, IsSymmetric)
{
    PciTree                tree;
    std::vector<PciDevice> all{
        device(1, 0, {"pci0000:00"}), device(2, 0, {"pci0000:00", "a:00.0"}),
        device(3, 0, {"pci0000:00", "a", "b"}), device(4, 1, {"pci0000:80"}),
        device(5, -1, {}), device(6, 0, {"pci0000:00", "a", "c", "d"})};
    for (const auto &x : all) {
        for (const auto &y : all) {
            EXPECT_EQ(tree.connection(x, y), tree.connection(y, x));
        }
    }
}

TEST(PciDevice, DisplaysOfBoardsAreNoGpus)
{
    PciDevice one;
    one.pci_class = 0x0300;
    one.vendor    = 0x1a03; /* a management controller's */
    EXPECT_FALSE(one.is_gpu());
    one.vendor = 0x10de;
    EXPECT_TRUE(one.is_gpu());
    one.pci_class = 0x0302;
    one.vendor    = 0x1234;
    EXPECT_TRUE(one.is_gpu());
    one.pci_class = 0x0200;
    EXPECT_FALSE(one.is_gpu());
}

TEST(Connection, NamesComeBack)
{
    for (Connection one : {Connection::Pix, Connection::Pxb, Connection::Phb,
                           Connection::Node, Connection::Sys}) {
        EXPECT_EQ(connection_of(name(one)), one);
        EXPECT_NE(std::string(kConnectionNames).find(name(one)),
                  std::string::npos);
    }
    for (const char *text : {"", "X", "-", "pix", "NV1"}) {
        EXPECT_FALSE(connection_of(text)) << text;
    }
}

} // namespace
} // namespace fuselink::topology
