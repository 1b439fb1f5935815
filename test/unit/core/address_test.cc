/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "wire/address.h"

#include <gtest/gtest.h>

namespace {

using namespace fuselink::wire;

/* Rail `index` as UCX's tcp describes a NIC with address 10.0.<index>.<host>. */
RailRecord tcp_rail(uint8_t index, uint8_t host, uint16_t port)
{
    RailRecord rail;
    rail.index          = index;
    rail.tl_hash        = hash_name("tcp");
    rail.net.family     = 4;
    rail.net.bytes      = {10, 0, index, host};
    rail.device_address = {0, 2, 10, 0, index, host};
    rail.iface_address  = {static_cast<uint8_t>(port >> 8),
                           static_cast<uint8_t>(port)};
    rail.name           = "tcp/nic" + std::to_string(index);
    rail.bytes_per_second = 1000000u * (index + 1u);
    return rail;
}

RailTable tcp_table(size_t rails)
{
    RailTable table;
    table.uuid = 0x0123456789abcdef;
    for (size_t i = 0; i < rails; ++i) {
        table.rails.push_back(tcp_rail(static_cast<uint8_t>(i), 7,
                                       static_cast<uint16_t>(40000 + 977 * i)));
    }
    return table;
}

void expect_same_address(const RailRecord &a, const RailRecord &b)
{
    EXPECT_EQ(a.index, b.index);
    EXPECT_EQ(a.tl_hash, b.tl_hash);
    EXPECT_EQ(a.net, b.net);
    EXPECT_EQ(a.device_address, b.device_address);
    EXPECT_EQ(a.iface_address, b.iface_address);
}

TEST(IfaceAddress, EightTcpRailsFit)
{
    RailTable table = tcp_table(16);
    uint8_t packed[kMaxIfaceAddress] = {};
    EXPECT_LE(pack_iface_address(table, packed), kMaxIfaceAddress);

    RailTable out;
    ASSERT_TRUE(unpack_iface_address(packed, out));
    EXPECT_EQ(out.uuid, table.uuid);
    ASSERT_EQ(out.rails.size(), 8u);
    for (size_t i = 0; i < out.rails.size(); ++i) {
        expect_same_address(out.rails[i], table.rails[i]);
    }
}

TEST(IfaceAddress, DifferentTransportsAndIndices)
{
    RailTable table = tcp_table(2);
    table.rails[1].index          = 5;
    table.rails[1].net            = {};
    table.rails[1].device_address = {1, 2, 3};
    table.rails[1].iface_address.clear();
    table.rails[1].tl_hash = hash_name("ud_verbs");

    uint8_t packed[kMaxIfaceAddress] = {};
    pack_iface_address(table, packed);
    RailTable out;
    ASSERT_TRUE(unpack_iface_address(packed, out));
    ASSERT_EQ(out.rails.size(), 2u);
    expect_same_address(out.rails[0], table.rails[0]);
    expect_same_address(out.rails[1], table.rails[1]);
}

TEST(IfaceAddress, Ipv6)
{
    RailTable table = tcp_table(1);
    RailRecord &rail = table.rails[0];
    rail.net.family  = 6;
    rail.device_address = {0, 10};
    for (uint8_t i = 0; i < 16; ++i) {
        rail.net.bytes[i] = static_cast<uint8_t>(0x20 + i);
        rail.device_address.push_back(rail.net.bytes[i]);
    }
    uint8_t packed[kMaxIfaceAddress] = {};
    pack_iface_address(table, packed);
    RailTable out;
    ASSERT_TRUE(unpack_iface_address(packed, out));
    expect_same_address(out.rails[0], rail);
}

TEST(IfaceAddress, RefusesWhatIsMalformed)
{
    RailTable out;
    uint8_t zero[kMaxIfaceAddress] = {};
    EXPECT_FALSE(unpack_iface_address(zero, out)); /* no rail */

    uint8_t packed[kMaxIfaceAddress] = {};
    size_t length = pack_iface_address(tcp_table(4), packed);
    for (size_t cut = 0; cut < length; ++cut) {
        EXPECT_FALSE(unpack_iface_address({packed, cut}, out)) << cut;
    }
    packed[8] = 17; /* more rails than there can be */
    EXPECT_FALSE(unpack_iface_address(packed, out));

    RailTable twice = tcp_table(2);
    twice.rails[1].index = 0;
    pack_iface_address(twice, packed);
    EXPECT_FALSE(unpack_iface_address(packed, out));
}

TEST(RailTable, RoundTrip)
{
    RailTable table = tcp_table(16);
    std::vector<uint8_t> packed;
    pack_rail_table(table, packed);
    EXPECT_LT(packed.size(), 2048u); /* one message, whatever the rail */

    RailTable out;
    ASSERT_TRUE(unpack_rail_table(packed, out));
    ASSERT_EQ(out.rails.size(), 16u);
    for (size_t i = 0; i < 16; ++i) {
        expect_same_address(out.rails[i], table.rails[i]);
        EXPECT_EQ(out.rails[i].name, table.rails[i].name);
        EXPECT_EQ(out.rails[i].bytes_per_second,
                  table.rails[i].bytes_per_second);
    }
}

TEST(RailTable, RefusesWhatIsMalformed)
{
    RailTable out;
    std::vector<uint8_t> packed;
    pack_rail_table(tcp_table(3), packed);
    for (size_t cut = 0; cut < packed.size(); ++cut) {
        EXPECT_FALSE(unpack_rail_table({packed.data(), cut}, out)) << cut;
    }
    packed.push_back(0); /* more than was said */
    EXPECT_FALSE(unpack_rail_table(packed, out));
}

TEST(RailTable, NamesAreMadePrintable)
{
    RailTable table = tcp_table(1);
    table.rails[0].name = "tcp/\n\x1b[31m";
    std::vector<uint8_t> packed;
    pack_rail_table(table, packed);
    RailTable out;
    ASSERT_TRUE(unpack_rail_table(packed, out));
    EXPECT_EQ(out.rails[0].name, "tcp/??[31m");
}

TEST(Uuid, TellsTheNetworkAndIsNeverZero)
{
    const uint64_t here = 0x123456789abcdef0, there = 0x123446789abcdef0;
    EXPECT_TRUE(same_network(make_uuid(here, 1), make_uuid(here, ~0ul)));
    EXPECT_FALSE(same_network(make_uuid(here, 1), make_uuid(there, 1)));
    EXPECT_NE(make_uuid(here, 1), make_uuid(here, 2));
    EXPECT_NE(make_uuid(0, 0), 0u);
    EXPECT_NE(make_uuid(0x00000fffffffffff, 0xfff0000000000000), 0u);
}

} // namespace
