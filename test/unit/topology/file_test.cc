/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "machines.h"

#include <gtest/gtest.h>

namespace fuselink::topology {
namespace {

/* What is wrong with lines as such. */
std::string parse_error(const std::string &text)
{
    File        file;
    std::string error;
    EXPECT_FALSE(File::parse(text, file, error)) << text;
    return error;
}

/* What is wrong with well-formed lines on a machine of 2 GPUs and 2 NICs. */
std::string apply_error(const std::string &line)
{
    File        file;
    Devices     devices;
    std::string error;
    EXPECT_TRUE(File::parse(gpu_lines(2) + "nic a\nnic b\n" + line, file,
                            error)) << error;
    EXPECT_TRUE(file.declare(devices, error)) << error;
    devices.number();
    EXPECT_FALSE(file.apply(devices, error)) << line;
    return error;
}

TEST(TopologyFile, NearAndNumaSayWhatIsBetween)
{
    Devices devices = machine(kFuselink8x8);
    for (size_t gpu = 0; gpu < 8; ++gpu) {
        for (size_t nic = 0; nic < 8; ++nic) {
            EXPECT_EQ(devices.to_nic(gpu, nic),
                      gpu == nic         ? Connection::Pix :
                      gpu / 4 == nic / 4 ? Connection::Node :
                                           Connection::Sys) << gpu << nic;
        }
        EXPECT_EQ(devices.between_gpus(0, gpu),
                  gpu == 0 ? Connection::Self :
                  gpu < 4  ? Connection::Node : Connection::Sys);
        EXPECT_EQ(devices.gpu(gpu).pcie, 13.75e6);
    }
    EXPECT_TRUE(devices.nvlink(1, 7).through_switch);
    EXPECT_EQ(devices.nvlink(1, 7).rate, 50e6);
    EXPECT_FALSE(devices.nvlink(1, 1).there());
    EXPECT_EQ(devices.nic(3).rate, 12.5e6);
}

TEST(TopologyFile, AnExplicitConnectionCounts)
{
    for (const char *order : {"connection b 0 PHB\nnuma 0 gpus 0\n"
                              "numa 1 nics b\n",
                              "numa 0 gpus 0\nnuma 1 nics b\n"
                              "connection b 0 PHB\n"}) {
        Devices devices = machine(gpu_lines(2) + "nic b\n" + order);
        EXPECT_EQ(devices.to_nic(0, 0), Connection::Phb);
        EXPECT_EQ(devices.to_nic(1, 0), Connection::Unknown);
    }
    Devices devices = machine(gpu_lines(2) + "connection 1 0 PXB\n"
                                             "numa 3 gpus 0,1\n");
    EXPECT_EQ(devices.between_gpus(0, 1), Connection::Pxb);
}

TEST(TopologyFile, GpusByAnyName)
{
    Devices devices = machine(gpu_lines(3) +
                              "nic a\nnear a 0000:12:00.0\n"
                              "numa 1 gpus 0-1,00000000:12:00.0\n");
    EXPECT_EQ(devices.to_nic(2, 0), Connection::Pix);
    EXPECT_EQ(devices.gpu(2).numa_node, 1);
    devices.gpu(1).uuid = "GPU-1-2-3";
    File        file;
    std::string error;
    ASSERT_TRUE(File::parse("near a GPU-1-2-3\nnuma 2 gpus GPU-1-2-3,0",
                            file, error));
    EXPECT_TRUE(file.apply(devices, error)) << error;
    EXPECT_EQ(devices.to_nic(1, 0), Connection::Pix);
    EXPECT_EQ(devices.gpu(0).numa_node, 2);
}

TEST(TopologyFile, LinksCanBeTakenAway)
{
    Devices devices = machine(gpu_lines(3) + "nvswitch 50GB/s\n"
                                             "nvlink 0 2 off\n");
    EXPECT_TRUE(devices.nvlink(0, 1).there());
    EXPECT_FALSE(devices.nvlink(0, 2).there());
    EXPECT_FALSE(devices.nvlink(2, 0).there());
    devices = machine(gpu_lines(2) + "nvlink all none\n");
    EXPECT_TRUE(devices.nvlink(0, 1).there());
    EXPECT_EQ(devices.nvlink(0, 1).rate, 0);
}

TEST(TopologyFile, CountedLinksKeepTheirNumber)
{
    Devices devices = machine(gpu_lines(2));
    devices.set_nvlink(0, 1, {18, true, 450e9});
    File        file;
    std::string error;
    ASSERT_TRUE(File::parse("nvswitch 400GB/s", file, error));
    ASSERT_TRUE(file.apply(devices, error));
    EXPECT_EQ(devices.nvlink(1, 0).links, 18u);
    EXPECT_EQ(devices.nvlink(1, 0).rate, 400e9);
}

TEST(TopologyFile, CommentsAndBlanks)
{
    Devices devices = machine("# nothing\n\n \t\r\ngpu 0000:01:00.0 # one\r\n"
                              "\tnic\ta \r\nnear a 0");
    EXPECT_EQ(devices.gpus(), 1u);
    EXPECT_EQ(devices.to_nic(0, 0), Connection::Pix);
}

TEST(TopologyFile, WrongLinesSayWhatIsAccepted)
{
    EXPECT_EQ(parse_error("# one\nnears a 0\n"),
              "line 2, 'nears': accepted: gpu, nic, near, connection, numa, "
              "pcie, nvlink, nvswitch");
    EXPECT_EQ(parse_error("near a"),
              "line 1, 'near': accepted: near NIC GPU: they share a PCIe "
              "switch");
    for (const char *line :
         {"gpu", "gpu 0", "gpu 0000:01:00.0 x", "nic", "nic a,b", "nic a 5",
          "nic a 5GB", "connection a 0", "connection a 0 NEAR",
          "connection a 0 pix", "numa 0 gpu 0", "numa -1 gpus 0",
          "numa 1024 gpus 0", "numa 0 gpus", "pcie", "pcie 0 1 5GB/s",
          "pcie off", "nvlink 5GB/s", "nvlink some 5GB/s", "nvlink 0 1",
          "nvlink 0 1 2 5GB/s", "nvswitch", "nvswitch 0MB/s", "nvswitch nan",
          "nvswitch -5GB/s", "nvswitch 1e300GB/s", "nvswitch inf"}) {
        std::string error = parse_error(line);
        EXPECT_EQ(error.find("line 1, '"), 0u) << error;
        EXPECT_NE(error.find("': accepted: "), std::string::npos) << error;
        EXPECT_EQ(error.find('\n'), std::string::npos) << error;
    }
}

TEST(TopologyFile, DevicesThatAreNotThereAreSaid)
{
    EXPECT_EQ(apply_error("near c 0"), "line 5, 'near': no NIC 'c'; accepted: "
                                       "a, b");
    EXPECT_EQ(apply_error("near a 2"),
              "line 5, 'near': no GPU '2'; accepted: 0 to 1, their PCI "
              "addresses and UUIDs");
    for (const char *line :
         {"near 0 1", "near a a", "near a 0000:99:00.0", "near a GPU-",
          "connection 0 0 PIX", "connection c 0 PIX", "numa 0 gpus 0-2",
          "numa 0 gpus 0,", "numa 0 gpus ,", "numa 0 gpus -", "numa 0 nics a,c",
          "numa 0 nics a,", "pcie 7 5GB/s", "nvlink 0 0 5GB/s",
          "nvlink 0 9 off", "nvlink all 1 off",
          "near a 99999999999999999999999"}) {
        EXPECT_NE(apply_error(line).find("accepted: "), std::string::npos)
            << line;
    }
}

TEST(TopologyFile, NoDevicesAtAll)
{
    File        file;
    Devices     devices;
    std::string error;
    ASSERT_TRUE(File::parse("pcie 5GB/s\nnvswitch off\nnear a 0", file, error));
    devices.number();
    EXPECT_FALSE(file.apply(devices, error));
    EXPECT_EQ(error, "line 3, 'near': no NIC 'a'; there is none");
}

/* What is printed is fit for a terminal, and what is kept has a bound. */
TEST(TopologyFile, FromSomebodyWhoMeansHarm)
{
    std::string error = parse_error("\x1b[2J" + std::string(100000, 'x'));
    EXPECT_LT(error.size(), 200u);
    EXPECT_EQ(error.find('\x1b'), std::string::npos);
    EXPECT_NE(parse_error(std::string(File::kMaxSize + 1, '#')).find("longer"),
              std::string::npos);
    std::string many;
    for (int i = 0; i < 100; ++i) {
        char line[40];
        snprintf(line, sizeof(line), "gpu 0000:%02x:00.0\n", i);
        many += line;
    }
    File    file;
    Devices devices;
    ASSERT_TRUE(File::parse(many, file, error));
    EXPECT_FALSE(file.declare(devices, error));
    EXPECT_EQ(error, "line 65, 'gpu': more than 64 GPUs");
    std::string list = "numa 0 gpus 0";
    while (list.size() < File::kMaxSize - 100) {
        list += ",0-1";
    }
    devices = Devices();
    ASSERT_TRUE(File::parse(gpu_lines(2) + list, file, error)) << error;
    ASSERT_TRUE(file.declare(devices, error));
    devices.number();
    EXPECT_TRUE(file.apply(devices, error)) << error;
}

} // namespace
} // namespace fuselink::topology
