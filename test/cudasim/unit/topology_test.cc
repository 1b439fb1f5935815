/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include <cstdlib>
#include <gtest/gtest.h>

#include "sim/topology.h"

using namespace cudasim;

namespace {

Topology parsed(const std::string &text)
{
    std::string error;
    auto        topology = Topology::parse(text, error);
    EXPECT_TRUE(topology) << error;
    return topology ? *topology : Topology();
}

std::string refused(const std::string &text)
{
    std::string error;
    EXPECT_FALSE(Topology::parse(text, error)) << text;
    return error;
}

/* The names of the links of a route. */
std::string way(const Topology &topology, int from, int to, bool peer = true)
{
    Route       route = topology.route(from, to, peer);
    std::string names;
    for (unsigned i = 0; i < route.length; ++i) {
        names += (i > 0 ? " " : "") + topology.links()[route.links[i]].name;
    }
    return names;
}

TEST(Topology, UnitsOfRates)
{
    EXPECT_EQ(parse_rate("12.5MB/s"), 12500000u);
    EXPECT_EQ(parse_rate("100mbit"), 12500000u);
    EXPECT_EQ(parse_rate("2GB/s"), 2000000000u);
    EXPECT_EQ(parse_rate("none"), 0u);
    for (const char *bad : {"", "12", "MB/s", "-1MB/s", "0MB/s", "1MB", "1e99GB/s"}) {
        EXPECT_FALSE(parse_rate(bad)) << bad;
    }
    EXPECT_EQ(parse_size("256MiB"), 256u << 20);
    EXPECT_EQ(parse_time("10us"), 10000u);
}

TEST(Topology, SwitchJoinsAll)
{
    Topology t = parsed("gpus 3\npcie 11MB/s\nnvswitch 40MB/s\n");
    EXPECT_EQ(way(t, 0, 2), "gpu0.nvlink.out gpu2.nvlink.in");
    EXPECT_EQ(way(t, 0, kHost), "gpu0.pcie.up host0.memory");
    EXPECT_EQ(way(t, kHost, 1), "host0.memory gpu1.pcie.down");
    EXPECT_EQ(way(t, 1, 1), "gpu1.memory");
    EXPECT_EQ(t.nvlink_ends(1), (std::vector<int>{0, 2}));
    EXPECT_TRUE(t.peers(0, 1));
}

TEST(Topology, LinksOfTheirOwn)
{
    Topology t = parsed("gpus 3\npcie 11MB/s\nnvlink 0 1 40MB/s\npeers nvlink\n");
    EXPECT_EQ(way(t, 0, 1), "gpu0.nvlink.gpu1");
    EXPECT_EQ(way(t, 1, 0), "gpu1.nvlink.gpu0");
    EXPECT_EQ(way(t, 0, 2),
              "gpu0.pcie.up gpu2.pcie.down host0.memory host0.memory");
    EXPECT_FALSE(t.peers(0, 2));
    EXPECT_EQ(t.nvlink_ends(0), std::vector<int>{1});
    EXPECT_TRUE(t.nvlink_ends(2).empty());
}

TEST(Topology, WithoutPeerAccessThroughTheHost)
{
    Topology t = parsed("gpus 2\nnvlink all 40MB/s\n");
    EXPECT_EQ(way(t, 0, 1, false),
              "gpu0.pcie.up gpu1.pcie.down host0.memory host0.memory");
}

TEST(Topology, EachSocketHasItsMemory)
{
    Topology t = parsed("gpus 4\nhost-memory 1 30MB/s\nnuma 1 gpus 2-3\n");
    EXPECT_EQ(way(t, 1, kHost), "gpu1.pcie.up host0.memory");
    EXPECT_EQ(way(t, 2, kHost), "gpu2.pcie.up host1.memory");
    EXPECT_EQ(way(t, kHost, 3), "host1.memory gpu3.pcie.down");
    EXPECT_EQ(way(t, 3, 0, false),
              "gpu3.pcie.up gpu0.pcie.down host1.memory host1.memory");
    EXPECT_EQ(t.links()[t.route(0, kHost).links[1]].rate, 0u);
    EXPECT_EQ(t.links()[t.route(2, kHost).links[1]].rate, 30000000u);
    Topology all = parsed("gpus 2\nnuma 5 gpus 1\nhost-memory 20MB/s\n");
    EXPECT_EQ(all.links()[all.route(kHost, 1).links[0]].rate, 20000000u);
}

TEST(Topology, LaterLinesWin)
{
    Topology t = parsed("gpus 3\nnvlink all 40MB/s\nnvlink 2 0 7MB/s\n"
                        "pcie 5MB/s\npcie 1-2 6MB/s\n");
    EXPECT_EQ(t.links()[t.route(0, 2).links[0]].rate, 7000000u);
    EXPECT_EQ(t.links()[t.route(0, 1).links[0]].rate, 40000000u);
    EXPECT_EQ(t.links()[t.gpus()[0].pcie_up].rate, 5000000u);
    EXPECT_EQ(t.links()[t.gpus()[2].pcie_down].rate, 6000000u);
}

TEST(Topology, ErrorsNameTheLineAndWhatIsAccepted)
{
    EXPECT_NE(refused("gpus 2\nfrob 1\n").find("line 2, 'frob': accepted"),
              std::string::npos);
    for (const char *bad :
         {"", "gpus 0", "gpus 33", "gpus 2\ngpus 2", "pcie 1MB/s\ngpus 2",
          "gpus 2\npcie", "gpus 2\npcie fast", "gpus 2\npcie 2 1MB/s",
          "gpus 2\nhost-memory 64 1MB/s", "gpus 2\nhost-memory 0 1 1MB/s",
          "gpus 2\nnvlink 0 0 1MB/s", "gpus 2\nnvlink 0 2 1MB/s",
          "gpus 2\nmemory 1kB", "gpus 2\nlatency 5", "gpus 2\nnics 17 1mbit",
          "gpus 2\nnear 0 0", "gpus 2\nnics 1 1mbit\nnear 0 2",
          "gpus 2\npeers some", "gpus 2\nnuma 0 gpus 3",
          "gpus 2\ncapability 9"}) {
        EXPECT_FALSE(refused(bad).empty()) << bad;
    }
}

TEST(Topology, FewerGpusOfTheSameNode)
{
    Topology t = parsed("gpus 8\nnvswitch 1MB/s\n"), all = t;
    EXPECT_TRUE(t.keep(2));
    EXPECT_EQ(t.gpus().size(), 2u);
    EXPECT_EQ(t.hash(), all.hash());
    EXPECT_EQ(way(t, 0, 1), way(all, 0, 1));
    EXPECT_FALSE(t.keep(3));
    EXPECT_FALSE(t.keep(0));
}

TEST(Topology, ReadyMadeOnes)
{
    struct {
        const char *name;
        unsigned    gpus, nics;
        double      pcie, nvlink; /* of a NIC's rate */
    } expected[] = {
        {"fuselink-8x8", 8, 8, 1.1, 4},
        {"fuselink-8x8-slow", 8, 8, 1.1, 4},
        {"nimble-4x4", 4, 4, 1.1, 2.4},
        {"shared-8x2", 8, 2, 1.1, 4},
    };
    for (const auto &e : expected) {
        std::string error;
        auto        t = Topology::load(std::string(TOPOLOGIES "/") + e.name +
                                          ".topology", error);
        ASSERT_TRUE(t) << error;
        EXPECT_EQ(t->gpus().size(), e.gpus);
        EXPECT_EQ(t->nics().size(), e.nics);
        double nic = static_cast<double>(*parse_rate(t->nics()[0].rate));
        double pcie =
            static_cast<double>(t->links()[t->gpus()[0].pcie_up].rate);
        double nvlink =
            static_cast<double>(t->links()[t->route(0, 1).links[0]].rate);
        EXPECT_NEAR(pcie / nic, e.pcie, 0.01) << e.name;
        EXPECT_NEAR(nvlink / nic, e.nvlink, 0.01) << e.name;
    }
}

} // namespace
