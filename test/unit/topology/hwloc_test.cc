/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "ucs_ext/topology.h"
#include "ucs_ext/topology/machine.h"
#include "ucs_ext/topology/paths.h"

#include "fuselink_config.h"

#include <gtest/gtest.h>
#include <cstdlib>

namespace fuselink::topology {
namespace {

/* Two sockets; at the first one GPU, one NIC behind its switch and one beside. */
PciTree two_sockets()
{
    PciTree     bus;
    const char *top = getenv("top_srcdir");
    if (top != nullptr) {
        Topology::from_xml(std::string(top) +
                           "/test/tools/two-sockets-gpus.xml")->read_bus(bus);
    }
    return bus;
}

#ifdef FUSELINK_HAVE_HWLOC

TEST(Hwloc, ReadsTheBus)
{
    if (getenv("top_srcdir") == nullptr) {
        GTEST_SKIP() << "top_srcdir is not set; make check does";
    }
    PciTree bus = two_sockets();
    EXPECT_EQ(bus.numa_nodes, 2u);
    const auto *gpu = bus.find(PciAddress{0, 2, 0, 0});
    ASSERT_NE(gpu, nullptr);
    EXPECT_TRUE(gpu->is_gpu());
    EXPECT_EQ(gpu->name, "Example GPU");
    EXPECT_NEAR(gpu->rate, 31.5e9, 0.1e9);
    EXPECT_EQ(gpu->bridges,
              (std::vector<std::string>{"pci0000:00", "0000:00:01.0"}));
    const Connection expected[] = {Connection::Pix, Connection::Phb,
                                   Connection::Sys, Connection::Sys};
    for (int i = 0; i < 4; ++i) {
        const auto *nic = bus.find("nic" + std::to_string(i));
        ASSERT_NE(nic, nullptr) << i;
        EXPECT_EQ(bus.connection(*gpu, *nic), expected[i]) << i;
    }
}

/* NICs are those of this machine, their places hwloc's. */
TEST(Hwloc, PlacesTheNicsThatThereAre)
{
    if (getenv("top_srcdir") == nullptr) {
        GTEST_SKIP() << "top_srcdir is not set; make check does";
    }
    Sources     sources;
    Devices     devices;
    std::string error;
    sources.bus   = two_sockets();
    sources.sysfs = "/nonexistent";
    ASSERT_TRUE(read(sources, devices, error)) << error;
    ASSERT_EQ(devices.gpus(), 1u);
    EXPECT_EQ(devices.gpu(0).numa_node, 0);
    EXPECT_EQ(devices.nics(), 0u);
}

#endif

TEST(Hwloc, AFileThatIsNotThereIsNoMachine)
{
    PciTree bus;
    bus.devices.emplace_back();
    Topology::from_xml("/nonexistent")->read_bus(bus);
    EXPECT_TRUE(bus.devices.empty());
}

} // namespace
} // namespace fuselink::topology
