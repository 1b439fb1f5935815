/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "conn/put_acks.h"

#include <gtest/gtest.h>
#include <random>

namespace {

using fuselink::PutAcks;

TEST(PutAcks, NothingIsOpenAtFirst)
{
    PutAcks acks(3);
    EXPECT_FALSE(acks.open());
    EXPECT_FALSE(acks.puts_open());
    EXPECT_FALSE(acks.bulk_held());
    EXPECT_EQ(acks.request(), 0u);
}

TEST(PutAcks, APutIsOpenUntilItIsAcknowledged)
{
    PutAcks acks(3);
    acks.put_sent();
    acks.put_sent();
    const uint64_t asked = acks.request();
    EXPECT_NE(asked, 0u);
    EXPECT_EQ(acks.request(), 0u); /* once is enough */
    EXPECT_TRUE(acks.puts_open());
    EXPECT_TRUE(acks.on_ack(asked));
    EXPECT_FALSE(acks.puts_open());
}

/* A fence is acknowledged, and is no put that a flush waits for. */
TEST(PutAcks, AFenceIsNoPut)
{
    PutAcks acks(3);
    acks.fence_sent();
    EXPECT_TRUE(acks.open());
    EXPECT_FALSE(acks.puts_open());
    EXPECT_NE(acks.request(), 0u);
}

TEST(PutAcks, BulkDataWaitsForWhatWasBefore)
{
    PutAcks acks(3);
    acks.put_sent();
    acks.hold_bulk();
    const uint64_t first = acks.request();
    acks.put_sent();
    const uint64_t second = acks.request();
    EXPECT_TRUE(acks.bulk_held());
    EXPECT_TRUE(acks.on_ack(first));
    EXPECT_FALSE(acks.bulk_held());
    EXPECT_TRUE(acks.puts_open());
    EXPECT_TRUE(acks.on_ack(second));
}

TEST(PutAcks, AFenceStandsUntilAllBeforeItIsAcknowledged)
{
    PutAcks acks(1);
    acks.note_fence(true);
    EXPECT_FALSE(acks.behind_fence()); /* of nothing */
    acks.put_sent();
    acks.hold_bulk();
    EXPECT_FALSE(acks.behind_fence());
    acks.note_fence(true);
    EXPECT_TRUE(acks.behind_full_fence());
    acks.put_sent();
    acks.note_fence(false); /* of an endpoint */
    const uint64_t number = acks.request();
    EXPECT_TRUE(acks.on_ack(number - 1));
    EXPECT_FALSE(acks.behind_full_fence());
    EXPECT_TRUE(acks.behind_fence());
    EXPECT_TRUE(acks.on_ack(number));
    EXPECT_FALSE(acks.behind_fence());
}

/* From a peer that lies, or of another connection. */
TEST(PutAcks, TakesNoAcknowledgementThatWasNotAskedFor)
{
    PutAcks acks(3), other(4);
    acks.put_sent();
    other.put_sent();
    const uint64_t foreign = other.request();
    EXPECT_FALSE(acks.on_ack(foreign));
    EXPECT_FALSE(acks.on_ack(acks.last_put())); /* sent, but not asked for */
    const uint64_t asked = acks.request();
    acks.put_sent();
    EXPECT_FALSE(acks.on_ack(asked + 1));
    EXPECT_FALSE(acks.on_ack(UINT64_MAX));
    EXPECT_FALSE(acks.on_ack(0));
    EXPECT_TRUE(acks.on_ack(asked));
    EXPECT_FALSE(acks.on_ack(asked)); /* twice */
    EXPECT_TRUE(acks.puts_open());
}

/* Whatever a peer says, what was not asked for is not acknowledged. */
TEST(PutAcks, AcknowledgedIsWhatWasAskedFor)
{
    std::mt19937_64 random(11);
    PutAcks  acks(9);
    uint64_t asked = 0, sent = uint64_t{9} << 32;
    for (int i = 0; i < 100000; ++i) {
        switch (random() % 4) {
        case 0:
            acks.put_sent();
            ++sent;
            break;
        case 1:
            acks.fence_sent();
            ++sent;
            break;
        case 2: {
            const uint64_t number = acks.request();
            asked                 = number != 0 ? number : asked;
            break;
        }
        default:
            acks.on_ack(sent - 2 + random() % 6);
        }
        ASSERT_FALSE(acks.acked(asked + 1) && asked != 0);
        ASSERT_LE(asked, sent);
        if (!acks.open()) {
            ASSERT_FALSE(acks.puts_open());
        }
    }
}

} // namespace
