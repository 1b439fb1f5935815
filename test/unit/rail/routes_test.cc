/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "rail/routes.h"

#include <gtest/gtest.h>

namespace fuselink {
namespace {

/* Routes by the last byte of an address; 1 is the loopback. Counts who asks. */
class Kernel final : public Network {
public:
    int route_ifindex(uint8_t, const std::array<uint8_t, 16> &address) override
    {
        ++asked;
        return address[3] + moved;
    }
    bool is_loopback(int ifindex) override { return ifindex == 1; }

    std::vector<net::InterfaceAddress> interface_addresses() override { return {}; }
    void introduce(int, const std::array<uint8_t, 16> &) override {}
    bool is_inner_bridge(const std::string &) override { return false; }
    std::vector<std::string> rdma_netdevs(const std::string &) override { return {}; }
    std::vector<std::string> active_rdma_ports() override { return {}; }
    Topology::Place          place(const std::string &) override { return {}; }
    int numa_node(const std::string &) override { return -1; }

    int asked = 0, moved = 0;
};

wire::NetAddress address(uint8_t last)
{
    wire::NetAddress result;
    result.family = 4;
    result.bytes  = {10, 0, 0, last};
    return result;
}

constexpr sched::Nanos kStart = sched::Nanos::seconds(1);

TEST(Routes, AreAskedForOnceInAMoment)
{
    Kernel kernel;
    Routes routes;
    for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(routes.to(address(7), kernel, kStart).ifindex, 7);
        EXPECT_EQ(routes.to(address(1), kernel, kStart + sched::Nanos::millis(9)).ifindex, 1);
    }
    EXPECT_EQ(kernel.asked, 2);
    EXPECT_TRUE(routes.to(address(1), kernel, kStart).loopback);
    EXPECT_FALSE(routes.to(address(7), kernel, kStart).loopback);
}

TEST(Routes, AreNotRememberedForLong)
{
    Kernel kernel;
    Routes routes;
    (void)routes.to(address(7), kernel, kStart);
    kernel.moved = 2;
    EXPECT_EQ(routes.to(address(7), kernel, kStart + Routes::kFresh - sched::Nanos(1)).ifindex, 7);
    EXPECT_EQ(routes.to(address(7), kernel, kStart + Routes::kFresh).ifindex, 9);
}

TEST(Routes, AChangeOfALinkIsSeenAtOnce)
{
    Kernel kernel;
    Routes routes;
    (void)routes.to(address(7), kernel, kStart);
    kernel.moved = 2;
    routes.forget();
    EXPECT_EQ(routes.to(address(7), kernel, kStart).ifindex, 9);
}

TEST(Routes, FamiliesAreTold)
{
    Kernel kernel;
    Routes routes;
    (void)routes.to(address(7), kernel, kStart);
    wire::NetAddress other = address(7);
    other.family           = 6;
    (void)routes.to(other, kernel, kStart);
    EXPECT_EQ(kernel.asked, 2);
}

TEST(Routes, HasABound)
{
    Kernel kernel;
    Routes routes;
    for (int round = 0; round < 2; ++round) {
        for (int i = 0; i < 1000; ++i) {
            wire::NetAddress one = address(static_cast<uint8_t>(i));
            one.bytes[2]         = static_cast<uint8_t>(i >> 8);
            EXPECT_EQ(routes.to(one, kernel, kStart).ifindex, i & 0xff);
        }
    }
}

} // namespace
} // namespace fuselink
