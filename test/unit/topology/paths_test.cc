/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "machines.h"

#include "ucs_ext/topology/paths.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>

namespace fuselink::topology {
namespace {

/* "nic0 direct PIX 12.5, nic1 by 1 PIX 12.5 (NODE)": NIC, way, what is between
 * (the relay and) the NIC, MB/s. */
std::string ways(const Devices &devices, size_t gpu)
{
    std::string text;
    for (const auto &path : nic_paths(devices, gpu)) {
        bool relayed = path.way == NicPath::Way::Relay;
        char rate[32];
        snprintf(rate, sizeof(rate), " %.4g", path.best_rate() / 1e6);
        text += (text.empty() ? "" : ", ") + devices.nic(path.nic).names[0] +
                (relayed ? " by " + std::to_string(path.relays[0].gpu) :
                           std::string(" ") + name(path.way)) + " " +
                name(relayed ? path.relays[0].connection : path.connection) +
                rate;
    }
    return text;
}

TEST(Paths, OfFuselinksNode)
{
    Devices devices = machine(kFuselink8x8);
    EXPECT_EQ(ways(devices, 0),
              "nic0 direct PIX 12.5, nic1 by 1 PIX 12.5, nic2 by 2 PIX 12.5, "
              "nic3 by 3 PIX 12.5, nic4 by 4 PIX 12.5, nic5 by 5 PIX 12.5, "
              "nic6 by 6 PIX 12.5, nic7 by 7 PIX 12.5");
    EXPECT_EQ(ways(devices, 5).find("nic5 direct PIX 12.5, nic0 by 0 PIX"), 0u);
    for (const auto &path : nic_paths(devices, 0)) {
        EXPECT_EQ(path.relays.empty(), path.nic == 0);
        for (const auto &relay : path.relays) {
            EXPECT_EQ(relay.hop.rate, 50e6);
            EXPECT_TRUE(relay.hop.through_switch);
        }
        /* All of the other socket are nearer to its NICs; the one beside the
         * NIC is the best of them. */
        EXPECT_EQ(path.relays.size(), path.nic == 0 ? 0u :
                                      path.nic < 4  ? 1u : 4u);
    }
}

TEST(Paths, OfNimblesNode)
{
    Devices devices = machine(kNimble4x4);
    EXPECT_EQ(ways(devices, 2), "nic2 direct PIX 25, nic0 by 0 PIX 25, "
                                "nic1 by 1 PIX 25, nic3 by 3 PIX 25");
    for (const auto &path : nic_paths(devices, 2)) {
        for (const auto &relay : path.relays) {
            EXPECT_FALSE(relay.hop.through_switch);
            EXPECT_EQ(relay.hop.rate, 60e6);
        }
    }
}

TEST(Paths, OfSharedNics)
{
    Devices devices = machine(kShared8x2);
    EXPECT_EQ(ways(devices, 0), "nic0 direct PIX 25, nic1 by 4 PIX 25");
    /* Not beside a switch, but no NIC is nearer; GPU 0 is beside it. */
    EXPECT_EQ(ways(devices, 1), "nic0 direct NODE 25, nic1 by 4 PIX 25");
    auto paths = nic_paths(devices, 1);
    ASSERT_EQ(paths[0].relays.size(), 1u);
    EXPECT_EQ(paths[0].relays[0].gpu, 0u);
    /* Whoever is nearer than GPU 1, the one beside it first. */
    ASSERT_EQ(paths[1].relays.size(), 4u);
    EXPECT_EQ(paths[1].relays[0].gpu, 4u);
    EXPECT_EQ(paths[1].relays[1].gpu, 5u);
    EXPECT_EQ(paths[1].relays[1].connection, Connection::Node);
    EXPECT_EQ(ways(devices, 7), "nic1 direct NODE 25, nic0 by 0 PIX 25");
}

TEST(Paths, WithoutNvlinkOthersAreFar)
{
    Devices devices = machine(kNimble4x4 + "nvlink all off\n");
    EXPECT_EQ(ways(devices, 0), "nic0 direct PIX 25, nic1 far NODE 25, "
                                "nic2 far SYS 25, nic3 far SYS 25");
}

TEST(Paths, WhoCannotRelayDoesNot)
{
    Devices devices = machine(kNimble4x4 + "nvlink 0 3 off\n");
    devices.gpu(1).mig = true;
    devices.set_peer_access(2, 0, PeerAccess::No);
    EXPECT_EQ(ways(devices, 0), "nic0 direct PIX 25, nic1 far NODE 25, "
                                "nic2 far SYS 25, nic3 far SYS 25");
    devices.set_peer_access(2, 0, PeerAccess::Unknown);
    EXPECT_EQ(ways(devices, 0), "nic0 direct PIX 25, nic2 by 2 PIX 25, "
                                "nic3 by 2 NODE 25, nic1 far NODE 25");
}

TEST(Paths, ADividedGpuHasNone)
{
    Devices devices    = machine(kNimble4x4);
    devices.gpu(1).mig = true;
    EXPECT_TRUE(nic_paths(devices, 1).empty());
    EXPECT_TRUE(nic_paths(devices, 4).empty()); /* nor one that is not there */
}

TEST(Paths, TheFasterHopFirst)
{
    Devices devices = machine(gpu_lines(3) + "nic a\nnear a 1\nnear a 2\n"
                              "numa 0 gpus 0\nnuma 1 nics a\n"
                              "nvlink 0 1 40MB/s\nnvlink 0 2 80MB/s\n");
    auto paths = nic_paths(devices, 0);
    /* Its only NIC is the nearest, however far. */
    EXPECT_EQ(paths[0].way, NicPath::Way::Direct);
    ASSERT_EQ(paths[0].relays.size(), 2u);
    EXPECT_EQ(paths[0].relays[0].gpu, 2u);
    EXPECT_EQ(paths[0].relays[0].rate, 80e6);
}

TEST(Paths, OnlyTheNicsAskedFor)
{
    Devices devices = machine(kNimble4x4);
    auto    paths   = nic_paths(devices, 0, {3, 1});
    ASSERT_EQ(paths.size(), 2u);
    EXPECT_EQ(paths[0].nic, 1u); /* the nearest of these */
    EXPECT_EQ(paths[0].way, NicPath::Way::Direct);
    EXPECT_EQ(paths[1].way, NicPath::Way::Relay);
    EXPECT_TRUE(nic_paths(devices, 0, {}).empty());
}

TEST(Paths, WithoutGpusOrNics)
{
    EXPECT_TRUE(nic_paths(machine("nic a\n"), 0).empty());
    EXPECT_TRUE(nic_paths(machine(gpu_lines(1)), 0).empty());
    Devices unknown = machine(gpu_lines(2) + "nic a\nnic b\nnvlink all none\n");
    EXPECT_EQ(ways(unknown, 0), "a direct - 0, b direct - 0");
}

/* A machine by chance. */
Devices chance(std::mt19937 &random)
{
    auto pick = [&](unsigned end) {
        return std::uniform_int_distribution<unsigned>(0, end - 1)(random);
    };
    Devices devices;
    size_t  gpus = pick(9), nics = pick(7);
    for (unsigned i = 0; i < gpus; ++i) {
        Gpu gpu;
        gpu.address = {0, i, 0, 0};
        gpu.pcie    = pick(3) * 1e9;
        gpu.mig     = pick(8) == 0;
        devices.add(std::move(gpu));
    }
    for (unsigned i = 0; i < nics; ++i) {
        Nic nic;
        nic.names = {"nic" + std::to_string(i)};
        nic.rate  = pick(4) * 1e9;
        devices.add(std::move(nic));
    }
    devices.number();
    for (size_t a = 0; a < gpus; ++a) {
        for (size_t b = 0; b < gpus; ++b) {
            if (a < b) {
                devices.set_nvlink(a, b, {pick(3), pick(2) == 0,
                                          pick(3) * 5e9});
            }
            devices.set_peer_access(a, b, static_cast<PeerAccess>(pick(3)));
        }
        for (size_t nic = 0; nic < nics; ++nic) {
            devices.set_to_nic(a, nic, static_cast<Connection>(1 + pick(6)));
        }
    }
    return devices;
}

TEST(Paths, HoldOnAnyMachine)
{
    std::mt19937 random(7);
    for (int round = 0; round < 2000; ++round) {
        Devices devices = chance(random);
        for (size_t gpu = 0; gpu < devices.gpus(); ++gpu) {
            auto paths = nic_paths(devices, gpu);
            ASSERT_EQ(paths.size(),
                      devices.gpu(gpu).mig ? 0 : devices.nics());
            std::vector<bool> seen(devices.nics());
            Connection        nearest = Connection::Unknown;
            for (const auto &path : paths) {
                EXPECT_FALSE(seen[path.nic]);
                seen[path.nic] = true;
                nearest        = std::min(nearest, path.connection);
                EXPECT_EQ(path.connection, devices.to_nic(gpu, path.nic));
                EXPECT_TRUE(path.way != NicPath::Way::Far ||
                            path.relays.empty());
                EXPECT_TRUE(path.way != NicPath::Way::Relay ||
                            !path.relays.empty());
                for (const auto &relay : path.relays) {
                    EXPECT_NE(relay.gpu, gpu);
                    EXPECT_FALSE(devices.gpu(relay.gpu).mig);
                    EXPECT_TRUE(devices.nvlink(gpu, relay.gpu).there());
                    EXPECT_NE(devices.peer_access(gpu, relay.gpu),
                              PeerAccess::No);
                    EXPECT_NE(devices.peer_access(relay.gpu, gpu),
                              PeerAccess::No);
                    EXPECT_LT(relay.connection, path.connection);
                    EXPECT_TRUE(relay.hop.rate == 0 ||
                                relay.rate <= relay.hop.rate);
                }
                EXPECT_TRUE(std::is_sorted(
                    path.relays.begin(), path.relays.end(),
                    [](const Relay &x, const Relay &y) {
                        return x.connection < y.connection;
                    }));
            }
            for (size_t i = 0; i < paths.size(); ++i) {
                EXPECT_EQ(paths[i].way == NicPath::Way::Direct,
                          paths[i].connection == nearest);
                EXPECT_TRUE(i == 0 || paths[i - 1].way <= paths[i].way);
            }
        }
    }
}

/* What one GPU may do for another does not depend on the rest: another NIC
 * changes the others' relays as little as a GPU without links. */
TEST(Paths, StrangersChangeNothing)
{
    std::string base = gpu_lines(3) + "nic a\nnic b\nnear a 0\nnear b 1\n"
                                      "numa 0 gpus 0-2\nnuma 0 nics a,b\n"
                                      "nvlink 0 1 5GB/s\n";
    auto one = nic_paths(machine(base), 0),
         two = nic_paths(machine(base + "nic z\nconnection z 0 SYS\n"), 0);
    ASSERT_EQ(one.size(), 2u);
    ASSERT_EQ(two.size(), 3u);
    for (size_t i = 0; i < one.size(); ++i) {
        EXPECT_EQ(one[i].nic, two[i].nic);
        EXPECT_EQ(one[i].way, two[i].way);
        ASSERT_EQ(one[i].relays.size(), two[i].relays.size());
        for (size_t j = 0; j < one[i].relays.size(); ++j) {
            EXPECT_EQ(one[i].relays[j].gpu, two[i].relays[j].gpu);
        }
    }
}

} // namespace
} // namespace fuselink::topology
