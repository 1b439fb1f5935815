/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "memory/region_table.h"

#include "../host/fake_host.h"

#include <gtest/gtest.h>
#include <string>

namespace {

using fuselink::RegionKey;
using fuselink::RegionTable;

uint64_t address(const void *p)
{
    return reinterpret_cast<uintptr_t>(p);
}

TEST(RegionTable, ContainsWhatWasAdded)
{
    FakeHost    host;
    RegionTable table(host);
    char buffer[100] = {};
    RegionKey key = table.add(buffer, sizeof(buffer));
    uint64_t base = address(buffer);
    EXPECT_TRUE(table.contains(key, base, 100));
    EXPECT_TRUE(table.contains(key, base + 99, 1));
    EXPECT_TRUE(table.contains(key, base + 100, 0));
    EXPECT_FALSE(table.contains(key, base, 101));
    EXPECT_FALSE(table.contains(key, base - 1, 1));
    EXPECT_FALSE(table.contains(key, base + 100, 1));
    EXPECT_FALSE(table.contains(key, base + 1, UINT64_MAX));
    EXPECT_FALSE(table.contains(key, UINT64_MAX, 2));
}

TEST(RegionTable, WrongKeyOpensNothing)
{
    FakeHost    host;
    RegionTable table(host);
    char buffer[8] = {};
    RegionKey key = table.add(buffer, sizeof(buffer));
    EXPECT_FALSE(table.contains({key.id, key.key + 1}, address(buffer), 1));
    EXPECT_FALSE(table.contains({key.id + 1, key.key}, address(buffer), 1));
    EXPECT_FALSE(table.contains({UINT32_MAX, key.key}, address(buffer), 1));
    EXPECT_FALSE(table.contains({key.id, 0}, address(buffer), 1));
}

TEST(RegionTable, EndedKeyOpensNothingEvenWhenItsPlaceIsTaken)
{
    FakeHost    host;
    RegionTable table(host);
    char buffer[8] = {};
    RegionKey old = table.add(buffer, sizeof(buffer));
    table.remove(old);
    EXPECT_FALSE(table.contains(old, address(buffer), 1));
    EXPECT_EQ(table.size(), 0u);

    RegionKey now = table.add(buffer, sizeof(buffer));
    EXPECT_EQ(now.id, old.id); /* places are used again */
    EXPECT_FALSE(table.contains(old, address(buffer), 1));
    table.remove(old); /* and an old key does not end the new region */
    EXPECT_TRUE(table.contains(now, address(buffer), 8));
    EXPECT_EQ(table.size(), 1u);
}

TEST(RegionTable, CopiesToWhatTheKeyNamesOnly)
{
    FakeHost    host;
    RegionTable table(host);
    char        buffer[8] = {};
    RegionKey   key       = table.add(buffer, 4);
    EXPECT_TRUE(table.copy_in(key, address(buffer), "abcd", 4));
    EXPECT_TRUE(table.copy_in(key, address(buffer) + 4, nullptr, 0));
    EXPECT_FALSE(table.copy_in(key, address(buffer) + 1, "wxyz", 4));
    table.remove(key);
    EXPECT_FALSE(table.copy_in(key, address(buffer), "wxyz", 4));
    EXPECT_EQ(std::string(buffer, 5), std::string("abcd\0", 5));
}

/* One key must not tell the next: who may reach one region would reach all. Not
 * even by what was used once, a counter behind a mixer that can be undone. */
TEST(RegionTable, KeysAreTheHostsRandomNumbers)
{
    FakeHost    host;
    RegionTable table(host);
    char buffer[8] = {};
    for (int i = 0; i < 100; ++i) {
        uint64_t       key  = table.add(buffer, sizeof(buffer)).key;
        const uint64_t high = key >> 32, low = key & UINT32_MAX;
        EXPECT_TRUE(high != 0 && high <= host.last) << std::hex << key;
        EXPECT_TRUE(low != 0 && low <= host.last) << std::hex << key;
    }
    EXPECT_LT(host.asked, 10u); /* a system call each */
}

TEST(RegionTable, CopiesOutOnlyWhatIsThere)
{
    FakeHost    host;
    RegionTable table(host);
    const std::string text = "0123456789";
    std::string out(4, ' ');
    RegionKey key = table.add(text.data(), text.size());
    EXPECT_TRUE(table.copy_out(key, address(text.data()) + 6, out.data(), 4));
    EXPECT_EQ(out, "6789");
    EXPECT_TRUE(table.copy_out(key, address(text.data()), nullptr, 0));
    EXPECT_FALSE(table.copy_out(key, address(text.data()) + 7, out.data(), 4));
    table.remove(key);
    EXPECT_FALSE(table.copy_out(key, address(text.data()), out.data(), 1));
    EXPECT_EQ(out, "6789");
}

TEST(RegionTable, KnowsWhetherSomeIsOfAGpu)
{
    FakeHost    host;
    RegionTable table(host);
    char buffer[8] = {};
    RegionKey of_host = table.add(buffer, sizeof(buffer));
    EXPECT_FALSE(table.any_on_gpu());
    RegionKey first  = table.add(buffer, sizeof(buffer), nullptr, true);
    RegionKey second = table.add(buffer, sizeof(buffer), nullptr, true);
    table.remove(first);
    table.remove(first);
    table.remove(of_host);
    EXPECT_TRUE(table.any_on_gpu());
    table.remove(second);
    EXPECT_FALSE(table.any_on_gpu());
}

} // namespace
