/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "transfer/slot_credits.h"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <set>
#include <vector>

namespace {

using fuselink::SlotCredits;
using fuselink::SlotCredit;
using Grant = SlotCredits::Grant;
namespace wire = fuselink::wire;

constexpr uint64_t kBase = 0x7000'0000'0000;
constexpr uint32_t kSize = 64 << 10;

wire::SlotGrant good_grant()
{
    wire::SlotGrant grant{};
    grant.base       = kBase;
    grant.size       = kSize;
    grant.region_id  = 3;
    grant.region_key = 0x1234;
    return grant;
}

/* As it comes from the wire. */
std::vector<char> message(wire::SlotGrant grant,
                          const std::vector<wire::SlotName> &names,
                          uint32_t says)
{
    grant.count = says;
    std::vector<char> bytes(sizeof(grant) + names.size() * sizeof(names[0]));
    memcpy(bytes.data(), &grant, sizeof(grant));
    if (!names.empty()) {
        memcpy(bytes.data() + sizeof(grant), names.data(),
               names.size() * sizeof(names[0]));
    }
    return bytes;
}

struct Borrower {
    SlotCredits           credits;
    std::vector<uint32_t> twice;

    Grant take(const std::vector<char> &bytes)
    {
        return credits.take_grant(bytes.data(), bytes.size(),
                                  [&](uint32_t slot) {
                                      twice.push_back(slot);
                                  });
    }
    Grant take(const wire::SlotGrant &grant,
               const std::vector<wire::SlotName> &names)
    {
        return take(message(grant, names,
                            static_cast<uint32_t>(names.size())));
    }
};

TEST(SlotCreditsGrant, IsTaken)
{
    Borrower borrower;
    EXPECT_TRUE(borrower.credits.may_ask(2));
    borrower.credits.ask();
    EXPECT_FALSE(borrower.credits.may_ask(2));
    EXPECT_EQ(borrower.take(good_grant(), {{4, 1}, {2, 9}}), Grant::Taken);
    EXPECT_EQ(borrower.credits.held(), 2u);
    EXPECT_EQ(borrower.credits.free(), 2u);
    EXPECT_EQ(borrower.credits.size(), kSize);
    EXPECT_EQ(borrower.credits.region().id, 3u);
    EXPECT_EQ(borrower.credits.region().key, 0x1234u);
    EXPECT_EQ(borrower.credits.address({4, 1}), kBase + 4 * uint64_t{kSize});
    EXPECT_FALSE(borrower.credits.may_ask(2)); /* there are as many */
    EXPECT_TRUE(borrower.credits.may_ask(3));
}

TEST(SlotCreditsGrant, NobodyAskedFor)
{
    Borrower borrower;
    EXPECT_EQ(borrower.take(good_grant(), {{1, 1}}), Grant::Unasked);
    EXPECT_EQ(borrower.credits.held(), 0u);
    borrower.credits.ask();
    EXPECT_EQ(borrower.take(good_grant(), {{1, 1}}), Grant::Taken);
    EXPECT_EQ(borrower.take(good_grant(), {{2, 1}}), Grant::Unasked);
    EXPECT_EQ(borrower.credits.held(), 1u);
}

TEST(SlotCreditsGrant, ShorterThanItsHeaderIsNone)
{
    Borrower borrower;
    borrower.credits.ask();
    std::vector<char> bytes = message(good_grant(), {}, 1);
    bytes.pop_back();
    EXPECT_EQ(borrower.take(bytes), Grant::Unasked);
    EXPECT_EQ(borrower.take(good_grant(), {{1, 1}}), Grant::Taken);
}

TEST(SlotCreditsGrant, OfNothing)
{
    Borrower borrower;
    borrower.credits.ask();
    wire::SlotGrant grant = good_grant();
    grant.size            = 0; /* then it does not matter */
    EXPECT_EQ(borrower.take(grant, {}), Grant::Empty);
    EXPECT_EQ(borrower.credits.size(), 0u);
    EXPECT_TRUE(borrower.credits.may_ask(1));
}

TEST(SlotCreditsGrant, OfSlotsThatAreTooSmall)
{
    for (uint32_t size : {0u, 1u, SlotCredits::kLeastSlot - 1}) {
        Borrower borrower;
        borrower.credits.ask();
        wire::SlotGrant grant = good_grant();
        grant.size            = size;
        EXPECT_EQ(borrower.take(grant, {{1, 1}}), Grant::Bad);
        EXPECT_EQ(borrower.credits.held(), 0u);
        EXPECT_EQ(borrower.credits.size(), 0u);
    }
}

/* Slots that are filled, or being so, would be somewhere else all at once. */
TEST(SlotCreditsGrant, ThatMovesTheSlots)
{
    for (int what = 0; what < 4; ++what) {
        Borrower borrower;
        borrower.credits.ask();
        ASSERT_EQ(borrower.take(good_grant(), {{1, 1}}), Grant::Taken);
        wire::SlotGrant grant = good_grant();
        switch (what) {
        case 0:
            grant.base += kSize;
            break;
        case 1:
            grant.size *= 2;
            break;
        case 2:
            ++grant.region_id;
            break;
        case 3:
            ++grant.region_key;
            break;
        }
        borrower.credits.ask();
        EXPECT_EQ(borrower.take(grant, {{2, 1}}), Grant::Bad) << what;
        EXPECT_EQ(borrower.credits.held(), 1u);
        EXPECT_EQ(borrower.credits.address({1, 1}), kBase + kSize);
        EXPECT_EQ(borrower.credits.size(), kSize);
    }
}

TEST(SlotCreditsGrant, OfTheSameSlotTwice)
{
    Borrower borrower;
    borrower.credits.ask();
    EXPECT_EQ(borrower.take(good_grant(),
                            {{1, 1}, {1, 2}, {SlotCredits::kMostSlots, 1},
                             {UINT32_MAX, 1}, {2, 1}}),
              Grant::Taken);
    EXPECT_EQ(borrower.credits.held(), 2u);
    EXPECT_EQ(borrower.twice,
              (std::vector<uint32_t>{1, SlotCredits::kMostSlots, UINT32_MAX}));
}

/* The count says more, or less, than there is. */
TEST(SlotCreditsGrant, WhoseCountIsWrong)
{
    const std::vector<wire::SlotName> names{{1, 1}, {2, 1}, {3, 1}};
    for (uint32_t says : {1u, 2u, 3u, 4u, UINT32_MAX}) {
        Borrower borrower;
        borrower.credits.ask();
        std::vector<char> bytes = message(good_grant(), names, says);
        bytes.pop_back(); /* the last name is cut */
        EXPECT_EQ(borrower.take(bytes), Grant::Taken);
        EXPECT_EQ(borrower.credits.held(), std::min(says, 2u));
    }
}

TEST(SlotCredits, AreGivenBackWhenRecalled)
{
    Borrower borrower;
    borrower.credits.ask();
    borrower.take(good_grant(), {{1, 1}, {2, 1}, {3, 1}});
    EXPECT_TRUE(borrower.credits.take_surplus().empty());
    const SlotCredit filled = borrower.credits.take();
    borrower.credits.recall(0);
    EXPECT_EQ(borrower.credits.take_surplus().size(), 2u);
    EXPECT_EQ(borrower.credits.held(), 1u);
    borrower.credits.emptied(filled, true);
    const std::vector<SlotCredit> back = borrower.credits.take_surplus();
    ASSERT_EQ(back.size(), 1u);
    EXPECT_EQ(back[0].slot, filled.slot);
    EXPECT_EQ(back[0].turn, filled.turn + 1);
    EXPECT_EQ(borrower.credits.held(), 0u);

    borrower.credits.ask(); /* and what comes then may be kept */
    borrower.take(good_grant(), {{1, 5}});
    EXPECT_TRUE(borrower.credits.take_surplus().empty());
}

/* Any bytes as grants and recalls between honest use: no slot is there twice, what is
 * free is held, and the slots stay where they are. */
TEST(SlotCredits, HostileGrantsBreakNothing)
{
    std::mt19937 random(2);
    Borrower     borrower;
    std::set<uint32_t>    used;
    std::vector<SlotCredit> filled;
    SlotCredits &credits = borrower.credits;
    for (int step = 0; step < 30000; ++step) {
        switch (random() % 6) {
        case 0:
            credits.ask();
            break;
        case 1: {
            wire::SlotGrant grant = good_grant();
            std::vector<wire::SlotName> names(random() % 5);
            for (auto &name : names) {
                name = {static_cast<uint32_t>(random() % 40),
                        static_cast<uint32_t>(random() % 4)};
            }
            std::vector<char> bytes = message(
                grant, names, static_cast<uint32_t>(random() % 8));
            if (random() % 4 == 0) {
                bytes[random() % bytes.size()] = static_cast<char>(random());
            }
            bytes.resize(bytes.size() - random() % 2);
            borrower.take(bytes);
            break;
        }
        case 2:
            if (credits.free() != 0) {
                filled.push_back(credits.take());
                ASSERT_TRUE(used.insert(filled.back().slot).second);
            }
            break;
        case 3:
            if (!filled.empty()) {
                used.erase(filled.back().slot);
                if (random() % 2 == 0) {
                    credits.untake(filled.back());
                } else {
                    credits.emptied(filled.back(), random() % 2 == 0);
                }
                filled.pop_back();
            }
            break;
        case 4:
            credits.recall(random() % 20);
            break;
        case 5:
            for (const SlotCredit &loan : credits.take_surplus()) {
                ASSERT_EQ(used.count(loan.slot), 0u);
            }
            break;
        }
        ASSERT_EQ(credits.held(), credits.free() + filled.size());
    }
    EXPECT_GE(credits.size(), SlotCredits::kLeastSlot);
}

} // namespace
