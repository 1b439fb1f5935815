/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "rma/key_exchange.h"
#include "wire/messages.h"

#include "../conn/fake_connection.h"
#include "../host/fake_host.h"

#include <gtest/gtest.h>
#include <random>

namespace {

using fuselink::KeyExchange;
using fuselink::NicKeys;
using fuselink::RegionKey;
using fuselink::wire::ControlType;

class KeyExchangeTest : public testing::Test {
protected:
    KeyExchangeTest()
    {
        for (uint8_t i = 0; i < 3; ++i) {
            fuselink::wire::RailRecord rail;
            rail.index  = i;
            rail.memory = i;
            theirs.rails.push_back(rail);
        }
        fuselink::wire::RailRecord tcp; /* needs no keys */
        tcp.index  = 3;
        tcp.memory = fuselink::wire::RailRecord::kNoKeys;
        theirs.rails.push_back(tcp);
    }

    /* What a peer answers; `count` keys as it says. */
    static std::vector<uint8_t> answer(uint32_t token, uint32_t count,
                                       const std::vector<uint8_t> &keys)
    {
        fuselink::wire::KeyData data{};
        data.header.type = static_cast<uint8_t>(ControlType::KeyData);
        data.token       = token;
        data.count       = static_cast<decltype(data.count)>(count);
        std::vector<uint8_t> bytes(sizeof(data));
        memcpy(bytes.data(), &data, sizeof(data));
        bytes.insert(bytes.end(), keys.begin(), keys.end());
        return bytes;
    }
    bool take(const std::vector<uint8_t> &bytes)
    {
        /* Of its own, so that a byte too many is seen. */
        auto *copy = new uint8_t[bytes.size()];
        memcpy(copy, bytes.data(), bytes.size());
        const bool taken = exchange.on_data(copy, bytes.size());
        delete[] copy;
        return taken;
    }

    FakeHost                  host;
    FakeConnection            conn;
    fuselink::NicMemory       nics;
    fuselink::RegionTable     regions{host};
    fuselink::wire::RailTable theirs;
    KeyExchange               exchange{conn, nics, regions, theirs};
    std::shared_ptr<NicKeys>  keys = std::make_shared<NicKeys>();
    const RegionKey           region{3, 0x77};
};

TEST_F(KeyExchangeTest, AsksForWhatIsUnknown)
{
    keys->set(1, {});
    const uint32_t token = exchange.request(region, keys);
    EXPECT_NE(token, 0u);
    const auto request = conn.last<fuselink::wire::KeyReq>();
    EXPECT_EQ(request.slots, (1u << 0) | (1u << 2));
    EXPECT_EQ(request.region_id, region.id);
    EXPECT_EQ(request.region_key, region.key);
    EXPECT_EQ(request.token, token);
    EXPECT_EQ(exchange.request(region, keys), 0u); /* is on its way */
    EXPECT_EQ(conn.sent.size(), 1u);
}

TEST_F(KeyExchangeTest, TakesTheAnswer)
{
    const uint32_t token = exchange.request(region, keys);
    EXPECT_TRUE(take(answer(token, 3, {0, 2, 9, 9, 1, 0, 2, 1, 5})));
    EXPECT_EQ(keys->state(0), NicKeys::State::Known);
    EXPECT_EQ(keys->state(1), NicKeys::State::None);
    EXPECT_EQ(keys->state(2), NicKeys::State::Known);
    EXPECT_FALSE(take(answer(token, 1, {0, 1, 7}))); /* once */
}

/* What it leaves out does not exist: nobody waits for it any longer. */
TEST_F(KeyExchangeTest, WhatIsLeftOutThereIsNot)
{
    const uint32_t token = exchange.request(region, keys);
    EXPECT_TRUE(take(answer(token, 1, {1, 1, 9})));
    EXPECT_EQ(keys->state(0), NicKeys::State::None);
    EXPECT_EQ(keys->state(1), NicKeys::State::Known);
    EXPECT_EQ(keys->state(2), NicKeys::State::None);
}

TEST_F(KeyExchangeTest, TakesNoAnswerThatNobodyAskedFor)
{
    const uint32_t token = exchange.request(region, keys);
    EXPECT_FALSE(take(answer(token + 1, 1, {0, 1, 9})));
    EXPECT_FALSE(take(answer(0, 1, {0, 1, 9})));
    auto bytes = answer(token, 0, {});
    bytes.pop_back();
    EXPECT_FALSE(take(bytes));
    EXPECT_EQ(keys->state(0), NicKeys::State::Asked);
    exchange.drop(token);
    EXPECT_FALSE(take(answer(token, 1, {0, 1, 9})));
}

TEST_F(KeyExchangeTest, BelievesNoLengths)
{
    const std::vector<uint8_t> hostile[] = {
        {},                    /* no keys, though it says so */
        {0},                   /* half a head */
        {0, 200, 1, 2},        /* a key beyond the end */
        {0, 255},              /* the longest, and nothing there */
        {255, 1, 1},           /* a slot that there is not */
        {fuselink::wire::kMaxRails, 0, 0, 1, 1},
    };
    for (const auto &bytes : hostile) {
        auto           fresh = std::make_shared<NicKeys>();
        const uint32_t token = exchange.request(region, fresh);
        EXPECT_TRUE(take(answer(token, UINT16_MAX, bytes)));
        for (unsigned slot = 0; slot < 3; ++slot) {
            EXPECT_EQ(fresh->state(slot), NicKeys::State::None);
        }
    }
}

/* A key for which memory is gone, or never was, is no key. */
TEST_F(KeyExchangeTest, AnswersThatThereIsNone)
{
    fuselink::wire::KeyReq request{};
    request.region_id  = 12345;
    request.region_key = 1;
    request.slots      = UINT16_MAX;
    request.token      = 4;
    exchange.on_request(&request, sizeof(request));
    ASSERT_EQ(conn.sent.size(), 1u);
    const auto reply = conn.last<fuselink::wire::KeyData>();
    EXPECT_EQ(reply.token, 4u);
    EXPECT_EQ(reply.count, fuselink::wire::kMaxRails);
    const auto &bytes = conn.sent.back();
    ASSERT_EQ(bytes.size(), sizeof(reply) + 2 * fuselink::wire::kMaxRails);
    for (size_t i = 0; i < fuselink::wire::kMaxRails; ++i) {
        EXPECT_EQ(bytes[sizeof(reply) + 2 * i], i);
        EXPECT_EQ(bytes[sizeof(reply) + 2 * i + 1], 0);
    }
    exchange.on_request(&request, sizeof(request) - 1);
    EXPECT_EQ(conn.sent.size(), 1u);
}

TEST_F(KeyExchangeTest, AnyBytesAreAnAnswerOrNone)
{
    std::mt19937 random(31);
    for (int i = 0; i < 20000; ++i) {
        auto           fresh = std::make_shared<NicKeys>();
        const uint32_t token = exchange.request(region, fresh);
        std::vector<uint8_t> bytes(random() % 64);
        for (auto &byte : bytes) {
            byte = static_cast<uint8_t>(random() % 5);
        }
        ASSERT_TRUE(take(answer(token, random() % 40, bytes)));
        for (unsigned slot = 0; slot < 3; ++slot) {
            ASSERT_NE(fresh->state(slot), NicKeys::State::Asked);
            ASSERT_NE(fresh->state(slot), NicKeys::State::Unknown);
        }
    }
}

} // namespace
