/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "host/random_numbers.h"

#include "fake_host.h"

#include <gtest/gtest.h>
#include <set>

namespace {

TEST(RandomNumbers, EachIsTheHostsAndGivenOnce)
{
    FakeHost                host;
    fuselink::RandomNumbers numbers(host);
    std::set<uint32_t>      seen;
    for (int i = 0; i < 64; ++i) {
        EXPECT_TRUE(seen.insert(numbers.next32()).second);
    }
    EXPECT_EQ(*seen.begin(), 1u);
    EXPECT_EQ(*seen.rbegin(), 64u);
    EXPECT_EQ(host.asked, 1u);
}

TEST(RandomNumbers, ALongOneIsTwo)
{
    FakeHost                host;
    fuselink::RandomNumbers numbers(host);
    std::set<uint64_t>      seen;
    for (int i = 0; i < 1000; ++i) {
        uint64_t number = numbers.next64();
        EXPECT_NE(number >> 32, number & UINT32_MAX);
        EXPECT_TRUE(seen.insert(number).second);
    }
    EXPECT_LT(host.asked, 50u);
}

} // namespace
