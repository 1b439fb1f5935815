/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "staging/slot_ledger.h"
#include "transfer/slot_credits.h"

#include <gtest/gtest.h>
#include <map>
#include <random>
#include <set>
#include <vector>

namespace {

using fuselink::SlotCredits;
using fuselink::SlotLedger;
using fuselink::SlotCredit;

TEST(SlotLedger, TakesEachSlotOnce)
{
    SlotLedger ledger(3);
    std::set<uint32_t> taken;
    for (int i = 0; i < 3; ++i) {
        auto slot = ledger.take();
        ASSERT_TRUE(slot);
        EXPECT_LT(*slot, 3u);
        EXPECT_TRUE(taken.insert(*slot).second);
    }
    EXPECT_FALSE(ledger.take());
    ledger.give(1);
    EXPECT_EQ(ledger.take(), 1u);
}

/* Somebody may still write to it: not used again until he does no more. */
TEST(SlotLedger, WhatIsHeldIsNotFree)
{
    SlotLedger ledger(2);
    uint32_t   slot = *ledger.take();
    ledger.hold(slot);
    ledger.hold(slot);
    ledger.give(slot);
    EXPECT_EQ(ledger.free(), 1u);
    ledger.let_go(slot);
    EXPECT_EQ(ledger.free(), 1u);
    ledger.let_go(slot);
    EXPECT_EQ(ledger.free(), 2u);

    slot = *ledger.take();
    ledger.hold(slot);
    ledger.let_go(slot); /* before its end here */
    EXPECT_EQ(ledger.free(), 1u);
    ledger.give(slot);
    EXPECT_EQ(ledger.free(), 2u);
}

/* What is out comes back, and then nobody has anything. */
TEST(SlotLedger, LendsNothingWhenItIsClosed)
{
    SlotLedger ledger(8);
    const auto loans = ledger.lend(1, 3);
    ASSERT_EQ(loans.size(), 3u);
    ASSERT_TRUE(ledger.fill(1, loans[0]));
    ledger.close();
    EXPECT_EQ(ledger.share(), 0u);
    EXPECT_EQ(ledger.over_quota(), std::vector<SlotLedger::Borrower>{1});
    EXPECT_TRUE(ledger.lend(1, 8).empty());
    EXPECT_TRUE(ledger.lend(2, 8).empty());
    EXPECT_FALSE(ledger.empty(loans[0].slot));
    EXPECT_TRUE(ledger.give_back(1, loans[1]));
    EXPECT_TRUE(ledger.fill(1, loans[2])); /* it was on its way */
    EXPECT_FALSE(ledger.empty(loans[2].slot));
    EXPECT_EQ(ledger.free(), 8u);
    EXPECT_TRUE(ledger.over_quota().empty());
}

TEST(SlotLedger, LendsHalfAtMost)
{
    SlotLedger ledger(8);
    EXPECT_EQ(ledger.lend(1, 100).size(), 4u);
    EXPECT_EQ(ledger.lend(1, 100).size(), 0u);
    EXPECT_EQ(ledger.lend(2, 1).size(), 0u);
    EXPECT_EQ(ledger.free(), 4u);
}

TEST(SlotLedger, LendsOnlyWhatIsWanted)
{
    SlotLedger ledger(8);
    EXPECT_EQ(ledger.lend(1, 0).size(), 0u);
    EXPECT_EQ(ledger.lend(1, 3).size(), 3u);
    EXPECT_EQ(ledger.lend(1, 3).size(), 0u);
    EXPECT_EQ(ledger.lent(1), 3u);
}

TEST(SlotLedger, OneOfTwoIsLent)
{
    SlotLedger ledger(2);
    EXPECT_EQ(ledger.lend(1, 5).size(), 1u);
    EXPECT_TRUE(ledger.take());
    EXPECT_FALSE(ledger.take());
}

/* It may be lost; data then comes by messages. */
TEST(SlotLedger, TheLastIsNotLent)
{
    SlotLedger ledger(1);
    EXPECT_EQ(ledger.lend(1, 5).size(), 0u);
    EXPECT_TRUE(ledger.take());
}

TEST(SlotLedger, FillsOncePerTurn)
{
    SlotLedger ledger(4);
    SlotCredit loan = ledger.lend(1, 1)[0];
    EXPECT_TRUE(ledger.fill(1, loan));
    EXPECT_FALSE(ledger.fill(1, loan));
    EXPECT_TRUE(ledger.empty(loan.slot));
    EXPECT_FALSE(ledger.fill(1, loan)); /* a word that is late */
    ++loan.turn;
    EXPECT_TRUE(ledger.fill(1, loan));
}

TEST(SlotLedger, BelievesNoStranger)
{
    SlotLedger ledger(8);
    SlotCredit loan = ledger.lend(1, 1)[0];
    EXPECT_FALSE(ledger.fill(2, loan));
    EXPECT_FALSE(ledger.fill(1, {loan.slot + 8, loan.turn}));
    EXPECT_FALSE(ledger.fill(1, {UINT32_MAX, loan.turn}));
    EXPECT_FALSE(ledger.fill(1, {loan.slot, loan.turn + 1}));
    EXPECT_FALSE(ledger.give_back(2, loan));
    EXPECT_FALSE(ledger.fill(0, {loan.slot == 0 ? 1u : 0u, 0}));
    uint32_t own = *ledger.take();
    EXPECT_FALSE(ledger.fill(1, {own, 0}));
    EXPECT_FALSE(ledger.fill(0, {own, 0}));
    EXPECT_TRUE(ledger.fill(1, loan));
    EXPECT_FALSE(ledger.give_back(1, loan)); /* it is full */
}

TEST(SlotLedger, ThoseWithMoreThanTheirShareLoseIt)
{
    SlotLedger ledger(8);
    auto first = ledger.lend(1, 4);
    ASSERT_EQ(first.size(), 4u);
    EXPECT_TRUE(ledger.over_quota().empty());
    EXPECT_EQ(ledger.lend(2, 4).size(), 0u);
    EXPECT_EQ(ledger.share(), 2u);
    ASSERT_EQ(ledger.over_quota().size(), 1u);
    EXPECT_EQ(ledger.over_quota()[0], 1u);
    ASSERT_TRUE(ledger.fill(1, first[0]));
    EXPECT_FALSE(ledger.empty(first[0].slot));
    EXPECT_TRUE(ledger.give_back(1, first[1]));
    EXPECT_TRUE(ledger.over_quota().empty());
    EXPECT_EQ(ledger.lend(2, 4).size(), 2u);
}

TEST(SlotLedger, ForgetsWhoIsGone)
{
    SlotLedger ledger(8);
    auto loans = ledger.lend(1, 4);
    ASSERT_TRUE(ledger.fill(1, loans[0]));
    ledger.forget(1, false);
    EXPECT_EQ(ledger.free(), 7u); /* one is still being read */
    EXPECT_FALSE(ledger.empty(loans[0].slot));
    EXPECT_EQ(ledger.free(), 8u);
    EXPECT_FALSE(ledger.fill(1, loans[1]));
}

TEST(SlotLedger, DoesNotUseAgainWhatMayBeWritten)
{
    SlotLedger ledger(8);
    auto loans = ledger.lend(1, 4);
    ASSERT_TRUE(ledger.fill(1, loans[0]));
    ledger.forget(1, true);
    EXPECT_FALSE(ledger.empty(loans[0].slot));
    EXPECT_EQ(ledger.free(), 4u);
    std::set<uint32_t> lost;
    for (const SlotCredit &loan : loans) {
        lost.insert(loan.slot);
    }
    while (auto slot = ledger.take()) {
        EXPECT_FALSE(lost.count(*slot));
    }
}

/* However many die in silence, with all that they can get: there is one left, and
 * half of what is left is for the next. */
TEST(SlotLedger, IsNeverLostAltogether)
{
    for (uint32_t size : {1u, 2u, 3u, 8u, 64u}) {
        SlotLedger ledger(size);
        uint32_t   left = size;
        for (uint32_t who = 1; who < 20; ++who) {
            auto loans = ledger.lend(who, 1000);
            ASSERT_EQ(loans.size(), left / 2);
            for (const SlotCredit &loan : loans) { /* full ones are as lost */
                ASSERT_TRUE(loan.slot % 2 == 0 || ledger.fill(who, loan));
            }
            ledger.forget(who, true);
            left -= left / 2;
            ASSERT_EQ(ledger.lost(), size - left);
            ASSERT_EQ(ledger.free(), left);
        }
        EXPECT_EQ(left, 1u);
        EXPECT_TRUE(ledger.take());
    }
}

/* Those who share the pool with a peer that takes its slots with it keep theirs,
 * and may not have more than half of the rest. */
TEST(SlotLedger, OthersKeepWhatTheyHave)
{
    SlotLedger ledger(16);
    ASSERT_EQ(ledger.lend(1, 4).size(), 4u);
    ASSERT_EQ(ledger.lend(2, 4).size(), 4u);
    ledger.forget(1, true);
    EXPECT_EQ(ledger.lent(2), 4u);
    EXPECT_EQ(ledger.lend(2, 100).size(), 2u); /* 6 of 12 */
    EXPECT_EQ(ledger.lend(3, 100).size(), 0u);
    ASSERT_EQ(ledger.over_quota().size(), 1u);
    ledger.forget(2, false);
    EXPECT_EQ(ledger.free(), 12u);
}

TEST(SlotCredits, TakesWhatWasLent)
{
    SlotCredits credits;
    EXPECT_TRUE(credits.add({5, 1}));
    EXPECT_FALSE(credits.add({5, 2}));
    EXPECT_FALSE(credits.add({SlotCredits::kMostSlots, 1}));
    EXPECT_EQ(credits.held(), 1u);
    SlotCredit loan = credits.take();
    EXPECT_EQ(loan.slot, 5u);
    EXPECT_EQ(credits.free(), 0u);
    EXPECT_EQ(credits.held(), 1u);
    EXPECT_FALSE(credits.add({5, 2})); /* it is full */
    credits.emptied(loan, true);
    EXPECT_EQ(credits.take().turn, 2u);
    credits.emptied({5, 2}, false);
    EXPECT_EQ(credits.held(), 0u);
    EXPECT_TRUE(credits.add({5, 9}));
}

TEST(SlotCredits, GivesBackWhatIsNotFilled)
{
    SlotCredits credits;
    for (uint32_t i = 0; i < 6; ++i) {
        credits.add({i, 1});
    }
    credits.take();
    credits.take();
    EXPECT_EQ(credits.shrink(3).size(), 3u);
    EXPECT_EQ(credits.held(), 3u);
    EXPECT_EQ(credits.shrink(0).size(), 1u);
    EXPECT_EQ(credits.held(), 2u);
    EXPECT_EQ(credits.shrink(0).size(), 0u);
}

/* Both sides, with words that take their time: they never disagree about a slot,
 * and no slot is with two. */
TEST(SlotCredits, AgreeWithTheLedger)
{
    std::mt19937 random(1);
    SlotLedger ledger(16);
    struct Side {
        SlotCredits           credits;
        std::vector<SlotCredit> full;
    };
    std::map<uint32_t, Side> sides;
    for (int step = 0; step < 20000; ++step) {
        uint32_t who  = 1 + random() % 3;
        Side    &side = sides[who];
        switch (random() % 6) {
        case 0:
            for (const SlotCredit &loan : ledger.lend(who, random() % 10)) {
                ASSERT_TRUE(side.credits.add(loan));
            }
            break;
        case 1:
        case 2:
            if (side.credits.free() != 0) {
                SlotCredit loan = side.credits.take();
                ASSERT_TRUE(ledger.fill(who, loan));
                side.full.push_back(loan);
            }
            break;
        case 3:
        case 4:
            if (!side.full.empty()) {
                size_t   i    = random() % side.full.size();
                SlotCredit loan = side.full[i];
                side.full.erase(side.full.begin() + static_cast<long>(i));
                side.credits.emptied(loan, ledger.empty(loan.slot));
            }
            break;
        case 5:
            for (uint32_t debtor : ledger.over_quota()) {
                SlotCredits &credits = sides[debtor].credits;
                for (const SlotCredit &loan : credits.shrink(ledger.share())) {
                    ASSERT_TRUE(ledger.give_back(debtor, loan));
                }
            }
            break;
        }
        uint32_t lent = 0;
        for (auto &[one, its] : sides) {
            ASSERT_EQ(its.credits.held(), ledger.lent(one));
            lent += ledger.lent(one);
        }
        ASSERT_LE(lent, 8u);
        ASSERT_EQ(lent + ledger.free(), 16u);
    }
}

} // namespace
