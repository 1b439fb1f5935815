/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "ucs_ext/topology.h"
#include "ucs_ext/topology/machine.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

namespace fuselink::topology {
namespace {

namespace fs = std::filesystem;

/* Machines as hwloc writes them down. */
class Hwloc : public testing::Test {
protected:
    void SetUp() override
    {
        const char *top = getenv("top_srcdir");
        if (top == nullptr) {
            GTEST_SKIP() << "top_srcdir is not set; make check does";
        }
        tests_ = std::string(top) + "/test/";
    }

    PciTree bus_of(const std::string &xml)
    {
        PciTree bus;
        Topology::from_xml(tests_ + xml)->read_bus(bus);
        return bus;
    }

    std::string tests_;
};

/* Two sockets; at the first one GPU, one NIC behind its switch and one beside. */
TEST_F(Hwloc, ReadsTheBus)
{
    PciTree bus = bus_of("tools/two-sockets-gpus.xml");
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

/* Two sockets: a GPU and an RDMA NIC at one switch, a NIC of virtio and a
 * display; a GPU at the other socket. */
class Switches : public Hwloc {
protected:
    void SetUp() override
    {
        Hwloc::SetUp();
        if (IsSkipped()) {
            return;
        }
        sources_.bus  = bus_of("unit/topology/switches.xml");
        sources_.nics = {{.name = "mlx5_0", .rdma = true, .rate = 25e9},
                         {.name = "eth0"},
                         {.name = "ib0"},
                         {.name = "veth1", .rate = 1.25e9}};
        char name[]   = "/tmp/fuselink-topology-XXXXXX";
        ASSERT_NE(mkdtemp(name), nullptr);
        folder_ = name;
    }
    void TearDown() override
    {
        if (!folder_.empty()) {
            fs::remove_all(folder_);
        }
    }

    Devices read_all(const std::string &file = {}, bool well = true)
    {
        if (!file.empty()) {
            std::ofstream(folder_ / "topology") << file;
            sources_.file = folder_ / "topology";
        }
        Devices devices;
        EXPECT_EQ(read(sources_, devices, error_), well) << error_;
        return devices;
    }

    Sources     sources_;
    fs::path    folder_;
    std::string error_;
};

TEST_F(Switches, AreBridgesOfTheBus)
{
    const PciTree &bus = sources_.bus;
    EXPECT_EQ(bus.numa_nodes, 2u);
    const auto *gpu = bus.find(*PciAddress::parse("0000:03:00.0"));
    ASSERT_NE(gpu, nullptr);
    EXPECT_EQ(gpu->bridges, (std::vector<std::string>{
                                "pci0000:00", "0000:00:01.0", "0000:01:00.0",
                                "0000:02:00.0"}));
    EXPECT_EQ(gpu->numa_node, 0);
    EXPECT_NEAR(gpu->rate, 31.5e9, 0.1e9);
    EXPECT_EQ(bus.find("ib0"), bus.find("mlx5_0"));
    ASSERT_NE(bus.find("eth0"), nullptr);
    EXPECT_EQ(bus.find("eth0")->address.text(), "0000:00:05.0");
    EXPECT_EQ(bus.find("eth0")->rate, 0);
    EXPECT_EQ(bus.find("veth1"), nullptr);
}

TEST_F(Switches, MakeAMachine)
{
    Devices devices = read_all();
    ASSERT_EQ(devices.gpus(), 2u); /* no display */
    ASSERT_EQ(devices.nics(), 3u);
    EXPECT_EQ(devices.gpu(0).numa_node, 0);
    EXPECT_EQ(devices.gpu(1).numa_node, 1);
    EXPECT_NEAR(devices.gpu(1).pcie, 63e9, 0.1e9);
    EXPECT_EQ(devices.between_gpus(0, 1), Connection::Sys);
    EXPECT_EQ(devices.to_nic(0, 0), Connection::Phb);
    EXPECT_EQ(devices.to_nic(0, 1), Connection::Pix);
    EXPECT_EQ(devices.to_nic(0, 2), Connection::Unknown);
    EXPECT_EQ(devices.to_nic(1, 1), Connection::Sys);
    EXPECT_EQ(devices.find_nic("ib0"), devices.find_nic("mlx5_0"));
    EXPECT_EQ(devices.nic(1).rate, 25e9);
    EXPECT_NEAR(devices.nic(1).pcie, 31.5e9, 0.1e9);
    EXPECT_EQ(devices.nic(1).numa_node, 0);
    EXPECT_EQ(devices.nic(2).rate, 1.25e9);
    EXPECT_FALSE(devices.nvlink(0, 1).there());
}

TEST_F(Switches, AreCorrectedByAFile)
{
    Devices devices = read_all("near veth1 0000:81:00.0\nnvlink 0 1 50GB/s\n");
    EXPECT_EQ(devices.to_nic(1, 2), Connection::Pix);
    EXPECT_EQ(devices.to_nic(0, 1), Connection::Pix);
    EXPECT_EQ(devices.nvlink(1, 0).rate, 50e9);
}

TEST_F(Switches, AWrongFileIsNamed)
{
    read_all("near eth7 0\n", false);
    EXPECT_EQ(error_, sources_.file +
                          ": line 1, 'near': no NIC 'eth7'; accepted: eth0, "
                          "mlx5_0, veth1");
    Devices devices;
    sources_.file = folder_ / "nowhere";
    EXPECT_FALSE(read(sources_, devices, error_));
    EXPECT_NE(error_.find("nowhere: cannot be read"), std::string::npos);
    sources_.file = folder_;
    EXPECT_FALSE(read(sources_, devices, error_));
    EXPECT_NE(error_.find("cannot be read"), std::string::npos) << error_;
}

TEST(Machine, OfNothingIsNothing)
{
    Sources     sources;
    Devices     devices;
    std::string error;
    EXPECT_TRUE(read(sources, devices, error)) << error;
    EXPECT_EQ(devices.gpus(), 0u);
    EXPECT_EQ(devices.nics(), 0u);
    EXPECT_TRUE(devices.notes.empty());
}

TEST(Machine, AFileThatIsNotThereIsNone)
{
    PciTree bus;
    bus.devices.emplace_back();
    Topology::from_xml("/nonexistent")->read_bus(bus);
    EXPECT_TRUE(bus.devices.empty());
}

} // namespace
} // namespace fuselink::topology
