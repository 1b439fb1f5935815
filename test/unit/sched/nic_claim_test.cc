/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "uct/fuselink/sched/nic_claim.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>
#include <vector>

namespace fuselink::sched {
namespace {

TEST(NicClaim, OneOfTheNearestThatBelongsToFewest)
{
    EXPECT_EQ(choose_nic({}, 7), 0u); /* none */
    const std::vector<NicClaim> nics = {
        {.owners = 0, .near = false}, {.owners = 3}, {.owners = 1}, {.owners = 2}};
    for (uint32_t place : {0, 1, 5}) {
        EXPECT_EQ(choose_nic(nics, place), 2u);
    }
    const std::vector<NicClaim> far = {{.owners = 2, .near = false},
                                       {.owners = 1, .near = false}};
    EXPECT_EQ(choose_nic(far, 0), 1u);
}

TEST(NicClaim, SiblingsThatLookAtTheSameMomentTakeDifferentOnes)
{
    const std::vector<NicClaim> nics = {{.owners = 1}, {}, {.near = false}, {}, {}};
    EXPECT_EQ(choose_nic(nics, 1), 1u);
    EXPECT_EQ(choose_nic(nics, 2), 3u);
    EXPECT_EQ(choose_nic(nics, 3), 3u);
    EXPECT_EQ(choose_nic(nics, 4), 4u);
    EXPECT_EQ(choose_nic(nics, 5), 1u);
    EXPECT_EQ(choose_nic(nics, 0), 1u);
}

TEST(NicClaim, WhatItHasIsKeptUnlessAnotherBelongsToFewer)
{
    std::vector<NicClaim> nics = {{}, {.owners = 1}, {.owners = 0, .held = true}, {}};
    EXPECT_EQ(choose_nic(nics, 0), 2u);
    nics[2].owners = 1;
    EXPECT_EQ(choose_nic(nics, 1), 3u);
    nics[2].near = true;
    nics[0].near = nics[1].near = nics[3].near = false; /* its GPU is known by now */
    EXPECT_EQ(choose_nic(nics, 0), 2u);
    nics[2].near = false;
    nics[1].near = true;
    EXPECT_EQ(choose_nic(nics, 0), 1u);
}

/* Processes that look in any order, some of which reach only some of the NICs, come to
 * rest, and then no NIC has two owners more than another that one of them could have. */
TEST(NicClaim, ProcessesComeToRest)
{
    constexpr size_t kNone = SIZE_MAX;
    std::mt19937_64  random(9);
    const auto       below = [&](size_t limit) { return random() % limit; };
    for (int run = 0; run < 500; ++run) {
        const size_t nics = 1 + below(8), processes = 1 + below(12);
        std::vector<std::vector<bool>> has(processes, std::vector<bool>(nics));
        for (auto &row : has) {
            for (size_t n = 0; n < nics; ++n) {
                row[n] = below(3) != 0;
            }
            row[below(nics)] = true;
        }
        std::vector<size_t> own(processes, kNone);
        const auto owners = [&](size_t nic) {
            return static_cast<uint32_t>(std::count(own.begin(), own.end(), nic));
        };
        for (size_t look = 0, still = 0; still < 200; ++look, ++still) {
            ASSERT_LT(look, 20000u);
            const size_t          p = below(processes);
            std::vector<NicClaim> seen;
            std::vector<size_t>   numbers;
            for (size_t n = 0; n < nics; ++n) {
                if (has[p][n]) {
                    const bool held = own[p] == n;
                    seen.push_back({.owners = owners(n) - held, .held = held});
                    numbers.push_back(n);
                }
            }
            const size_t chosen = numbers.at(choose_nic(seen, static_cast<uint32_t>(p)));
            still               = chosen == own[p] ? still : 0;
            own[p]              = chosen;
        }
        for (size_t p = 0; p < processes; ++p) {
            for (size_t n = 0; own[p] != kNone && n < nics; ++n) {
                EXPECT_TRUE(!has[p][n] || owners(own[p]) <= owners(n) + 1) << "run " << run;
            }
        }
    }
}

} // namespace
} // namespace fuselink::sched
