/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "rx/slot_lender.h"
#include "wire/messages.h"

#include "../conn/fake_connection.h"
#include "../host/fake_host.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <memory>
#include <random>
#include <vector>

namespace {

using fuselink::Connection;
using fuselink::SlotLender;
using fuselink::SlotCredit;
using fuselink::Slots;
using fuselink::wire::ControlType;
using fuselink::wire::kHostPool;

/* All connections of a test. */
class Registry final : public fuselink::PeerRegistry {
public:
    Connection *find(uint32_t session) const override
    {
        for (Connection *conn : all) {
            if (conn->session() == session) {
                return conn;
            }
        }
        return nullptr;
    }

    std::vector<Connection *> all;
};

class SlotLenderTest : public testing::Test {
protected:
    static constexpr size_t kSlot  = 4096;
    static constexpr size_t kSlots = 16;

    /* Any memory domain of UCX that takes memory of the host. */
    void SetUp() override
    {
        ASSERT_EQ(fuselink::open_uct_mds({"self"}, mds), UCS_OK);
        ASSERT_FALSE(mds.empty());
        slots = std::make_unique<Slots>(*mds.front(), nics, regions, kSlot,
                                        kSlot * kSlots);
        lender = std::make_unique<SlotLender>(one, slots.get(), near, rails, registry);
        others = std::make_unique<SlotLender>(two, slots.get(), near, rails, registry);
        registry.all = {&one, &two};
    }

    struct Granted {
        fuselink::wire::SlotGrant grant{};
        std::vector<SlotCredit>     loans;
    };
    static Granted ask(SlotLender &lender, FakeConnection &conn, uint32_t want)
    {
        fuselink::wire::SlotAsk message{};
        message.want = want;
        lender.on_ask(&message, sizeof(message));
        for (size_t i = conn.sent.size(); i-- != 0;) {
            if (conn.sent[i][0] ==
                static_cast<uint8_t>(ControlType::SlotGrant)) {
                return read(conn.sent[i]);
            }
        }
        return {};
    }
    static Granted read(const FakeConnection::Message &bytes)
    {
        Granted granted;
        memcpy(&granted.grant, bytes.data(), sizeof(granted.grant));
        for (size_t i = 0; i < granted.grant.count; ++i) {
            fuselink::wire::SlotName name;
            memcpy(&name, bytes.data() + sizeof(granted.grant) +
                              i * sizeof(name), sizeof(name));
            granted.loans.push_back({name.slot, name.turn});
        }
        return granted;
    }
    static void give_back(SlotLender &lender, const SlotCredit &loan)
    {
        struct {
            fuselink::wire::SlotBack back;
            fuselink::wire::SlotName name;
        } message{};
        message.back.count = 1;
        message.name.slot  = loan.slot;
        message.name.turn  = loan.turn;
        std::vector<uint8_t> bytes(sizeof(message.back) + sizeof(message.name));
        memcpy(bytes.data(), &message.back, sizeof(message.back));
        memcpy(bytes.data() + sizeof(message.back), &message.name,
               sizeof(message.name));
        lender.on_back(bytes.data(), bytes.size());
    }
    static bool recalled(const FakeConnection &conn)
    {
        return std::any_of(conn.sent.begin(), conn.sent.end(),
                           [](const FakeConnection::Message &message) {
            return message[0] == static_cast<uint8_t>(ControlType::SlotRecall);
        });
    }

    FakeHost                                         host;
    fuselink::NicMemory                              nics;
    fuselink::RegionTable                            regions{host};
    fuselink::Poller                                 poller{host};
    fuselink::Lanes                                  lanes;
    fuselink::Rails                                  rails{host, poller, lanes};
    Registry                                         registry;
    FakeConnection                                   one{1}, two{2};
    fuselink::GpuCopies                              copies;
    fuselink::NearPools                              near{host, copies, regions, registry};
    std::vector<std::unique_ptr<fuselink::UctMd>>  mds;
    std::unique_ptr<Slots>                           slots;
    std::unique_ptr<SlotLender>                      lender, others;
};

TEST_F(SlotLenderTest, LendsHalfToTheOnlyOne)
{
    const Granted granted = ask(*lender, one, 1000);
    EXPECT_EQ(granted.loans.size(), kSlots / 2);
    EXPECT_EQ(granted.grant.size, kSlot);
    EXPECT_EQ(granted.grant.base, reinterpret_cast<uintptr_t>(slots->at(0)));
    EXPECT_EQ(ask(*lender, one, 1000).loans.size(), 0u); /* he has them */
}

TEST_F(SlotLenderTest, RecallsFromWhoIsOverTheQuota)
{
    ASSERT_EQ(ask(*lender, one, 1000).loans.size(), kSlots / 2);
    EXPECT_FALSE(recalled(one));
    const Granted second = ask(*others, two, 1000);
    EXPECT_LT(second.loans.size(), kSlots / 4);
    EXPECT_TRUE(recalled(one));
    EXPECT_FALSE(recalled(two));
}

TEST_F(SlotLenderTest, NobodyIsAskedThatIsGone)
{
    ASSERT_EQ(ask(*lender, one, 1000).loans.size(), kSlots / 2);
    one.fail(UCS_ERR_CONNECTION_RESET);
    ask(*others, two, 1000);
    EXPECT_FALSE(recalled(one));
    registry.all = {&two};
    ask(*others, two, 1000);
    EXPECT_FALSE(recalled(two));
}

TEST_F(SlotLenderTest, OnlyItsBorrowerFillsASlotAndOnce)
{
    const Granted  granted = ask(*lender, one, 2);
    ASSERT_EQ(granted.loans.size(), 2u);
    const SlotCredit loan = granted.loans[0];
    EXPECT_FALSE(others->fill(kHostPool, loan));
    EXPECT_FALSE(lender->fill(kHostPool, {loan.slot, loan.turn + 1}));
    EXPECT_FALSE(lender->fill(kHostPool, {UINT32_MAX, loan.turn}));
    EXPECT_TRUE(lender->fill(kHostPool, loan));
    EXPECT_FALSE(lender->fill(kHostPool, loan));
}

TEST_F(SlotLenderTest, WhatIsGivenBackIsLentAgain)
{
    const Granted granted = ask(*lender, one, 1000);
    give_back(*others, granted.loans[0]); /* not his */
    EXPECT_EQ(ask(*lender, one, 1000).loans.size(), 0u);
    give_back(*lender, granted.loans[0]);
    EXPECT_FALSE(lender->fill(kHostPool, granted.loans[0]));
    EXPECT_EQ(ask(*lender, one, 1000).loans.size(), 1u);
}

TEST_F(SlotLenderTest, ShortMessagesSayNothing)
{
    fuselink::wire::SlotAsk message{};
    message.want = 4;
    lender->on_ask(&message, sizeof(message) - 1);
    EXPECT_TRUE(one.sent.empty());
    fuselink::wire::SlotBack back{};
    back.count = 100; /* and no names */
    lender->on_back(&back, sizeof(back));
    lender->on_back(&back, sizeof(back) - 1);
    EXPECT_EQ(slots->ready(), true);
}

TEST_F(SlotLenderTest, WithoutGpusThereIsNothingToLend)
{
    SlotLender none(one, nullptr, near, rails, registry);
    const Granted granted = ask(none, one, 1000);
    EXPECT_EQ(one.sent.size(), 1u);
    EXPECT_TRUE(granted.loans.empty());
    EXPECT_FALSE(none.fill(kHostPool, {0, 0}));
    give_back(none, {0, 0});
    none.end(false, false);
}

/* Where no slots of GPUs are lent a peer cannot say anything of such. */
TEST_F(SlotLenderTest, OfOtherPoolsThereIsNothing)
{
    const Granted granted = ask(*lender, one, 2);
    ASSERT_EQ(granted.loans.size(), 2u);
    EXPECT_FALSE(lender->fill(1, granted.loans[0]));
    EXPECT_FALSE(lender->fill(UINT32_MAX, granted.loans[0]));
    EXPECT_EQ(lender->slot_size(kHostPool), kSlot);
    EXPECT_EQ(lender->slot_size(1), 0u);
    lender->lend_near(0);
    EXPECT_FALSE(near.any());
    EXPECT_TRUE(lender->fill(kHostPool, granted.loans[0]));
}

/* Whatever is asked for and given back, by whom, no slot has two borrowers. */
TEST_F(SlotLenderTest, NoSlotIsLentTwice)
{
    std::mt19937 random(41);
    struct Borrower {
        SlotLender           *lender;
        FakeConnection       *conn;
        std::vector<SlotCredit> has;
    } borrowers[] = {{lender.get(), &one, {}}, {others.get(), &two, {}}};
    for (int i = 0; i < 5000; ++i) {
        Borrower &who = borrowers[random() % 2];
        if (random() % 2 == 0) {
            for (const SlotCredit &loan : ask(*who.lender, *who.conn,
                                              random() % 20).loans) {
                for (const Borrower &other : borrowers) {
                    for (const SlotCredit &has : other.has) {
                        ASSERT_NE(has.slot, loan.slot);
                    }
                }
                who.has.push_back(loan);
            }
            who.conn->sent.clear();
        } else if (!who.has.empty()) {
            give_back(*who.lender, who.has.back());
            who.has.pop_back();
        }
        ASSERT_LE(borrowers[0].has.size() + borrowers[1].has.size(),
                  kSlots / 2);
    }
}

} // namespace
