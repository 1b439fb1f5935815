/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "ucs_ext/topology/machine.h"
#include "ucs_ext/topology/sysfs.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

namespace fuselink::topology {
namespace {

namespace fs = std::filesystem;

/* A copy of /sys with two sockets: a GPU and an RDMA NIC at one switch, a GPU
 * at the other socket, a NIC of virtio, a virtual one and a display. */
class SysfsTest : public testing::Test {
protected:
    void SetUp() override
    {
        char name[] = "/tmp/fuselink-sysfs-XXXXXX";
        ASSERT_NE(mkdtemp(name), nullptr);
        root_ = name;
        std::string at = "pci0000:00/0000:00:01.0/0000:01:00.0/";
        pci(at + "0000:02:00.0/0000:03:00.0", "0x030200", "0x10de", 0);
        pci(at + "0000:02:01.0/0000:04:00.0", "0x020700", "0x15b3", 0);
        pci("pci0000:80/0000:80:01.0/0000:81:00.0", "0x030200", "0x10de", 1);
        pci("pci0000:00/0000:00:1f.0", "0x030000", "0x1a03", 0);
        pci("pci0000:00/0000:00:05.0", "0x020000", "0x1af4", 0);
        pci("pci0000:00/0000:00:06.0", "0x010601", "0x8086", 0);
        write("devices/pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:00.0/"
              "max_link_speed", "16.0 GT/s PCIe");
        write("devices/pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:00.0/"
              "max_link_width", "16");
        nic("infiniband/mlx5_0", "devices/" + at + "0000:02:01.0/0000:04:00.0");
        write("class/infiniband/mlx5_0/ports/1/rate", "200 Gb/sec (4X HDR)");
        nic("net/ib0", "devices/" + at + "0000:02:01.0/0000:04:00.0");
        write("class/net/ib0/type", "32");
        nic("net/eth0", "devices/pci0000:00/0000:00:05.0/virtio2");
        write("class/net/eth0/type", "1");
        write("class/net/eth0/speed", "-1");
        write("class/net/veth1/type", "1");
        write("class/net/veth1/speed", "10000");
        write("class/net/lo/type", "772");
        write("devices/system/node/node0/cpulist", "0");
        write("devices/system/node/node1/cpulist", "1");
        write("devices/system/node/online", "0-1");
    }
    void TearDown() override { fs::remove_all(root_); }

    void write(const fs::path &file, const std::string &text)
    {
        fs::create_directories((root_ / file).parent_path());
        std::ofstream(root_ / file) << text << '\n';
    }
    void pci(const fs::path &path, const char *pci_class, const char *vendor,
             int numa)
    {
        fs::path folder = "devices" / path;
        write(folder / "class", pci_class);
        write(folder / "vendor", vendor);
        write(folder / "numa_node", std::to_string(numa));
        write(folder / "max_link_speed", "32.0 GT/s PCIe");
        write(folder / "max_link_width", "16");
        write(folder / "current_link_speed", "2.5 GT/s PCIe");
        fs::create_directories(root_ / "bus/pci/devices");
        fs::create_symlink(root_ / folder,
                           root_ / "bus/pci/devices" / path.filename());
    }
    void nic(const fs::path &name, const fs::path &device)
    {
        fs::create_directories(root_ / device);
        fs::create_directories(root_ / "class" / name);
        fs::create_symlink(root_ / device, root_ / "class" / name / "device");
    }

    Devices read_all(const std::string &file = {}, bool well = true)
    {
        Sources sources;
        sources.sysfs = root_;
        if (!file.empty()) {
            write("topology", file);
            sources.file = root_ / "topology";
        }
        Devices devices;
        EXPECT_EQ(read(sources, devices, error_), well) << error_;
        return devices;
    }

    fs::path    root_;
    std::string error_;
};

TEST_F(SysfsTest, ReadsTheBus)
{
    PciTree tree = Sysfs(root_).pci_tree();
    EXPECT_EQ(tree.devices.size(), 4u); /* no display, no disk */
    EXPECT_EQ(tree.numa_nodes, 2u);
    const auto *gpu = tree.find(*PciAddress::parse("0000:03:00.0"));
    ASSERT_NE(gpu, nullptr);
    EXPECT_EQ(gpu->bridges, (std::vector<std::string>{
                                "pci0000:00", "0000:00:01.0", "0000:01:00.0",
                                "0000:02:00.0"}));
    EXPECT_EQ(gpu->numa_node, 0);
    /* The card can do 32, the slot 16; the speed of this moment is no matter. */
    EXPECT_NEAR(gpu->rate, 31.5e9, 0.1e9);
    EXPECT_EQ(tree.find("ib0"), tree.find("mlx5_0"));
    ASSERT_NE(tree.find("eth0"), nullptr);
    EXPECT_EQ(tree.find("eth0")->address.text(), "0000:00:05.0");
    EXPECT_EQ(tree.find("veth1"), nullptr);
}

TEST_F(SysfsTest, ListsNics)
{
    auto nics = Sysfs(root_).nics();
    ASSERT_EQ(nics.size(), 3u);
    EXPECT_EQ(nics[0].names, std::vector<std::string>{"eth0"});
    EXPECT_EQ(nics[0].rate, 0);
    EXPECT_EQ(nics[1].names, (std::vector<std::string>{"mlx5_0", "ib0"}));
    EXPECT_NEAR(nics[1].rate, 25e9, 1);
    EXPECT_EQ(nics[2].names, std::vector<std::string>{"veth1"});
    EXPECT_NEAR(nics[2].rate, 1.25e9, 1);
}

/* Of a software device sysfs only says the interface that it is put on. */
TEST_F(SysfsTest, JoinsSoftwareDevicesWithTheirInterface)
{
    write("class/infiniband/rxe0/parent", "veth1");
    auto nics = Sysfs(root_).nics();
    ASSERT_EQ(nics.size(), 3u);
    EXPECT_EQ(nics[2].names, (std::vector<std::string>{"rxe0", "veth1"}));
}

TEST_F(SysfsTest, MakesAMachine)
{
    Devices devices = read_all();
    ASSERT_EQ(devices.gpus(), 2u);
    ASSERT_EQ(devices.nics(), 3u);
    EXPECT_EQ(devices.between_gpus(0, 1), Connection::Sys);
    EXPECT_EQ(devices.to_nic(0, 0), Connection::Phb);
    EXPECT_EQ(devices.to_nic(0, 1), Connection::Pix);
    EXPECT_EQ(devices.to_nic(0, 2), Connection::Unknown);
    EXPECT_EQ(devices.to_nic(1, 1), Connection::Sys);
    EXPECT_EQ(devices.find_nic("ib0"), devices.find_nic("mlx5_0"));
    EXPECT_FALSE(devices.nvlink(0, 1).there());
}

TEST_F(SysfsTest, AFileCorrectsIt)
{
    Devices devices = read_all("near veth1 0000:81:00.0\nnvlink 0 1 50GB/s\n");
    EXPECT_EQ(devices.to_nic(1, 2), Connection::Pix);
    EXPECT_EQ(devices.to_nic(0, 1), Connection::Pix);
    EXPECT_EQ(devices.nvlink(1, 0).rate, 50e9);
}

TEST_F(SysfsTest, AWrongFileIsNamed)
{
    read_all("near eth7 0\n", false);
    EXPECT_EQ(error_, (root_ / "topology").string() +
                          ": line 1, 'near': no NIC 'eth7'; accepted: eth0, "
                          "mlx5_0, veth1");
    Sources sources;
    Devices devices;
    sources.sysfs = root_;
    sources.file  = root_ / "nowhere";
    EXPECT_FALSE(read(sources, devices, error_));
    EXPECT_NE(error_.find("nowhere: cannot be read"), std::string::npos);
    sources.file = root_; /* a folder */
    EXPECT_FALSE(read(sources, devices, error_));
    EXPECT_NE(error_.find("cannot be read"), std::string::npos) << error_;
}

TEST(Sysfs, OfNothingIsNothing)
{
    Sources sources;
    Devices devices;
    std::string error;
    sources.sysfs = "/nonexistent";
    EXPECT_TRUE(read(sources, devices, error)) << error;
    EXPECT_EQ(devices.gpus(), 0u);
    EXPECT_EQ(devices.nics(), 0u);
    EXPECT_TRUE(devices.notes.empty());
}

} // namespace
} // namespace fuselink::topology
