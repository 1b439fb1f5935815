/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "transfer/retransmit_queue.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <memory>
#include <random>
#include <vector>

namespace fuselink {

/* The queue tells them by their addresses. */
struct Transfer {
    std::vector<bool> sent; /* by byte */
};
struct StagingSegment {};

} // namespace fuselink

namespace {

using fuselink::RetransmitQueue;
using fuselink::RetransmitSegment;
using fuselink::StagingSegment;
using fuselink::Transfer;

TEST(RetransmitQueue, KeepsTheOrder)
{
    Transfer        one, two;
    RetransmitQueue queue;
    EXPECT_TRUE(queue.empty());
    queue.push({&one, 10, 5, 1, nullptr});
    queue.push({&two, 0, 7, 2, nullptr});
    EXPECT_EQ(queue.bytes(), 12u);
    EXPECT_EQ(queue.front().transfer, &one);
    EXPECT_EQ(queue.front().offset, 10u);
    EXPECT_EQ(queue.at(1).tries, 2);
}

/* Bytes count until they are on their way: what asks for the backlog while a segment
 * is being posted must not take it for nothing. */
TEST(RetransmitQueue, CountsWhatIsTakenOutUntilItIsSent)
{
    Transfer        one;
    RetransmitQueue queue;
    queue.push({&one, 0, 10, 1, nullptr});
    RetransmitSegment segment = queue.take();
    EXPECT_TRUE(queue.empty());
    EXPECT_EQ(queue.bytes(), 10u);
    queue.sent(4);
    segment.offset += 4;
    segment.length -= 4;
    queue.put_back(segment);
    EXPECT_EQ(queue.bytes(), 6u);
    EXPECT_EQ(queue.front().offset, 4u);
    queue.take();
    queue.sent(6);
    EXPECT_EQ(queue.bytes(), 0u);
}

TEST(RetransmitQueue, LetsOthersPass)
{
    Transfer        one, two;
    RetransmitQueue queue;
    queue.push({&one, 0, 1, 1, nullptr});
    queue.push({&two, 0, 1, 1, nullptr});
    queue.defer(queue.take());
    EXPECT_EQ(queue.front().transfer, &two);
    EXPECT_EQ(queue.at(1).transfer, &one);
    EXPECT_EQ(queue.bytes(), 2u);
}

TEST(RetransmitQueue, SplitsOffWhatFitsABuffer)
{
    Transfer        one, two;
    StagingSegment  buffer;
    RetransmitQueue queue;
    queue.push({&one, 100, 10, 2, nullptr});
    queue.push({&two, 0, 1, 1, nullptr});
    EXPECT_TRUE(queue.split(0, 4, &buffer));
    ASSERT_EQ(queue.size(), 3u);
    EXPECT_EQ(queue.bytes(), 11u);
    EXPECT_EQ(queue.at(0).offset, 100u);
    EXPECT_EQ(queue.at(0).length, 4u);
    EXPECT_EQ(queue.at(0).staged, &buffer);
    EXPECT_EQ(queue.at(1).offset, 104u);
    EXPECT_EQ(queue.at(1).length, 6u);
    EXPECT_EQ(queue.at(1).staged, nullptr);
    EXPECT_EQ(queue.at(1).tries, 2);
    EXPECT_FALSE(queue.split(1, 6, &buffer));
    ASSERT_EQ(queue.size(), 3u);
    EXPECT_EQ(queue.at(1).staged, &buffer);
    EXPECT_EQ(queue.at(2).transfer, &two);
}

TEST(RetransmitQueue, DropsOneTransferAlone)
{
    Transfer        one, two;
    RetransmitQueue queue;
    for (size_t i = 0; i < 6; ++i) {
        queue.push({i % 2 == 0 ? &one : &two, i, i + 1, 1, nullptr});
    }
    EXPECT_EQ(queue.count(one), 3u);
    size_t dropped = 0;
    queue.drop(one, [&](const RetransmitSegment &segment) {
        EXPECT_EQ(segment.transfer, &one);
        dropped += segment.length;
    });
    EXPECT_EQ(queue.count(one), 0u);
    EXPECT_EQ(dropped, 1u + 3 + 5);
    EXPECT_EQ(queue.bytes(), 2u + 4 + 6);
    ASSERT_EQ(queue.size(), 3u);
    for (size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(queue.at(i).transfer, &two);
    }
}

/* Transfers lose parts, which are split, sent in pieces, lost again and given up, in
 * any order: each byte is sent once for each time that it was lost, and the bytes
 * that wait are counted at every step. */
TEST(RetransmitQueue, EachLostByteIsSentOnce)
{
    std::mt19937                           random(3);
    std::vector<std::unique_ptr<Transfer>> transfers;
    for (int i = 0; i < 5; ++i) {
        transfers.push_back(std::make_unique<Transfer>());
        transfers.back()->sent.assign(200, true);
    }
    RetransmitQueue queue;
    StagingSegment  buffer;
    auto check = [&] {
        size_t bytes = 0, unsent = 0;
        for (size_t i = 0; i < queue.size(); ++i) {
            bytes += queue.at(i).length;
            ASSERT_NE(queue.at(i).length, 0u);
        }
        for (auto &transfer : transfers) {
            unsent += static_cast<size_t>(std::count(
                transfer->sent.begin(), transfer->sent.end(), false));
        }
        ASSERT_EQ(queue.bytes(), bytes);
        ASSERT_EQ(queue.bytes(), unsent);
    };
    for (int step = 0; step < 20000; ++step) {
        Transfer &transfer = *transfers[random() % transfers.size()];
        switch (random() % 5) {
        case 0: { /* a chunk is lost, all of which was sent */
            size_t offset = random() % 200;
            size_t length = 0;
            while (offset + length < 200 && length < 40 &&
                   transfer.sent[offset + length]) {
                transfer.sent[offset + length++] = false;
            }
            if (length != 0) {
                queue.push({&transfer, offset, length, 1, nullptr});
            }
            break;
        }
        case 1:
        case 2:
            if (!queue.empty()) {
                RetransmitSegment segment = queue.take();
                size_t            length  = 1 + random() % segment.length;
                for (size_t i = 0; i < length; ++i) {
                    ASSERT_FALSE(segment.transfer->sent[segment.offset + i]);
                    segment.transfer->sent[segment.offset + i] = true;
                }
                queue.sent(length);
                segment.offset += length;
                segment.length -= length;
                if (segment.length != 0) {
                    random() % 2 != 0 ? queue.put_back(segment) :
                                        queue.defer(segment);
                }
            }
            break;
        case 3:
            if (!queue.empty()) {
                size_t index = random() % queue.size();
                if (queue.at(index).staged == nullptr) {
                    queue.split(index, 1 + random() % queue.at(index).length,
                                &buffer);
                }
            }
            break;
        case 4:
            if (random() % 20 == 0) {
                queue.drop(transfer, [](const RetransmitSegment &segment) {
                    for (size_t i = 0; i < segment.length; ++i) {
                        segment.transfer->sent[segment.offset + i] = true;
                    }
                });
            }
            break;
        }
        check();
    }
}

} // namespace
