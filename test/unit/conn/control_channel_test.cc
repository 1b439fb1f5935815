/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "conn/control_channel.h"
#include "wire/messages.h"

#include "fake_connection.h"
#include "fake_lane.h"

#include <gtest/gtest.h>
#include <random>

namespace {

using fuselink::ControlChannel;
using fuselink::ControlQueue;
using fuselink::wire::ControlType;

class Events final : public ControlChannel::Events {
public:
    void on_first_taken() override { ++first; }
    void on_drained() override { ++drained; }
    void on_room() override { ++room; }
    void on_call_failed(ucs_status_t status) override { call = status; }
    void on_lane_error(uct_ep_h, ucs_status_t) override
    {
        ++errors;
        if (channel != nullptr) { /* as for a lane that took nothing */
            channel->set(ControlChannel::kConnecting);
        }
    }

    ControlChannel *channel = nullptr;
    unsigned        first = 0, drained = 0, room = 0, errors = 0;
    ucs_status_t    call = UCS_OK;
};

class ControlChannelTest : public testing::Test {
protected:
    ControlChannelTest() { channel.move_to(&lane, rail.rail(), 0); }

    /* A message that is known again. */
    void send(uint32_t mark, ControlType type = ControlType::PathBroken)
    {
        fuselink::wire::Flush message{};
        message.header.type = static_cast<uint8_t>(type);
        message.sn          = mark;
        channel.send(&message, sizeof(message), nullptr, 0);
    }
    static uint64_t mark(const FakeLane::Message &message)
    {
        fuselink::wire::Flush read{};
        memcpy(&read, message.data(), sizeof(read));
        return read.sn;
    }
    void expect_taken(std::vector<uint64_t> expected)
    {
        std::vector<uint64_t> marks;
        for (const auto &message : lane.taken) {
            marks.push_back(mark(message));
        }
        EXPECT_EQ(marks, expected);
    }

    FakeConnection conn;
    FakeLane       lane;
    NamedRail      rail;
    Events         events;
    ControlChannel channel{conn, 0x1234, events};
};

TEST_F(ControlChannelTest, FillsInWhoSends)
{
    send(1);
    ASSERT_EQ(lane.taken.size(), 1u);
    fuselink::wire::ControlHeader header;
    memcpy(&header, lane.taken[0].data(), sizeof(header));
    EXPECT_EQ(header.version, fuselink::wire::kProtocolVersion);
    EXPECT_EQ(header.session, conn.session());
    EXPECT_EQ(header.sender, 0x1234u);
}

TEST_F(ControlChannelTest, TellsOfTheFirstMessageOnce)
{
    EXPECT_FALSE(channel.taken());
    send(1);
    send(2);
    EXPECT_TRUE(channel.taken());
    EXPECT_EQ(events.first, 1u);
}

TEST_F(ControlChannelTest, WhatWaitsGoesBeforeWhatComes)
{
    send(1);
    lane.room = 0;
    send(2);
    send(3);
    EXPECT_TRUE(channel.has(ControlChannel::kBlocked));
    lane.room = 100; /* but nobody was told yet */
    send(4);
    expect_taken({1});
    lane.give_room(100);
    expect_taken({1, 2, 3, 4});
    EXPECT_FALSE(channel.has(ControlChannel::kBlocked));
    EXPECT_EQ(events.room, 1u);
    EXPECT_EQ(channel.queue_bytes(), 0u);
}

/* A rail's queue must not get a request twice. */
TEST_F(ControlChannelTest, WaitsForRoomOnce)
{
    lane.room = 0;
    for (uint32_t i = 0; i < 5; ++i) {
        send(i);
    }
    EXPECT_EQ(lane.waiting.size(), 1u);
    lane.give_room(2);
    EXPECT_EQ(lane.waiting.size(), 1u); /* it has stayed */
    expect_taken({0, 1});
    EXPECT_EQ(channel.outcome(UCS_ERR_NO_RESOURCE), UCS_ERR_NO_RESOURCE);
    EXPECT_EQ(lane.waiting.size(), 1u);
    lane.give_room(100);
    EXPECT_EQ(lane.waiting.size(), 0u);
    expect_taken({0, 1, 2, 3, 4});
}

/* Free, but without what it needs to send: asking at once would never end. */
TEST_F(ControlChannelTest, LooksForRoomLater)
{
    lane.room  = 0;
    lane.tells = false;
    send(1);
    EXPECT_EQ(conn.deferred, 1u);
    channel.look_for_room();
    EXPECT_EQ(conn.deferred, 2u);
    lane.room = 1;
    channel.look_for_room();
    expect_taken({1});
    channel.look_for_room();
    EXPECT_EQ(conn.deferred, 2u);
}

/* The peer asks and asks, and takes no answers. */
TEST_F(ControlChannelTest, GivesUpWhoTakesNoAnswers)
{
    lane.room = 0;
    std::vector<char> body(1 << 20);
    fuselink::wire::KeyData answer{};
    answer.header.type = static_cast<uint8_t>(ControlType::KeyData);
    for (int i = 0; i < 100 && !conn.failed(); ++i) {
        channel.send(&answer, sizeof(answer), body.data(), body.size());
    }
    EXPECT_EQ(conn.failure(), UCS_ERR_EXCEEDS_LIMIT);
    EXPECT_LE(channel.queue_bytes(), ControlQueue::kMaxAnswers);
    send(1);
    EXPECT_LE(channel.queue_bytes(), ControlQueue::kMaxAnswers);
}

/* Nothing is lost with a lane that took nothing, but for its hello. */
TEST_F(ControlChannelTest, TheNextLaneTakesWhatWaits)
{
    lane.room = 0;
    send(1);
    send(2);
    ControlQueue::Message hello(sizeof(fuselink::wire::Flush));
    hello[0] = static_cast<uint8_t>(ControlType::Hello);
    channel.send_first(hello);
    channel.leave();
    EXPECT_TRUE(channel.connected());
    send(3);
    FakeLane next;
    channel.move_to(&next, rail.rail(), 0);
    channel.clear(ControlChannel::kConnecting);
    channel.drain();
    ASSERT_EQ(next.taken.size(), 3u);
    for (uint32_t i = 0; i < 3; ++i) {
        EXPECT_EQ(mark(next.taken[i]), i + 1);
    }
    EXPECT_TRUE(lane.taken.empty());
}

TEST_F(ControlChannelTest, KeepsTheMessageThatALaneFailedWith)
{
    events.channel = &channel;
    lane.broken    = UCS_ERR_CONNECTION_RESET;
    send(1);
    EXPECT_EQ(events.errors, 1u);
    EXPECT_FALSE(channel.taken());
    FakeLane next;
    channel.leave();
    channel.move_to(&next, rail.rail(), 0);
    channel.clear(ControlChannel::kConnecting);
    channel.drain();
    ASSERT_EQ(next.taken.size(), 1u);
    EXPECT_EQ(mark(next.taken[0]), 1u);
}

TEST_F(ControlChannelTest, ACallersErrorSaysNothingOfTheLane)
{
    for (auto status : {UCS_ERR_INVALID_PARAM, UCS_ERR_UNSUPPORTED,
                        UCS_ERR_EXCEEDS_LIMIT, UCS_ERR_NO_MEMORY, UCS_OK,
                        UCS_INPROGRESS}) {
        EXPECT_EQ(channel.outcome(status), status);
        EXPECT_EQ(events.call, UCS_OK);
        EXPECT_EQ(channel.obstacles(), 0u);
    }
    channel.outcome(UCS_ERR_CONNECTION_RESET);
    EXPECT_EQ(events.call, UCS_ERR_CONNECTION_RESET);
}

TEST_F(ControlChannelTest, AFlushAsksForWhatIsTheUsers)
{
    send(1);
    EXPECT_FALSE(channel.unflushed());
    EXPECT_EQ(channel.am_short(3, 0, nullptr, 0), UCS_OK);
    EXPECT_TRUE(channel.unflushed());
    channel.note_flush();
    EXPECT_TRUE(channel.take_unfenced());
    EXPECT_FALSE(channel.take_unfenced());
    channel.note_rma();
    EXPECT_TRUE(channel.unflushed());
    EXPECT_FALSE(channel.take_unfenced());
}

TEST_F(ControlChannelTest, AMessageThatDoesNotFitIsNotTheUsers)
{
    lane.room = 0;
    EXPECT_EQ(channel.am_short(3, 0, nullptr, 0), UCS_ERR_NO_RESOURCE);
    EXPECT_FALSE(channel.unflushed());
    EXPECT_TRUE(channel.has(ControlChannel::kBlocked));
}

TEST_F(ControlChannelTest, IsWrittenWhenAStreamHasRoom)
{
    EXPECT_EQ(channel.am_short(3, 0, nullptr, 0), UCS_OK);
    EXPECT_TRUE(channel.written());
    EXPECT_EQ(channel.obstacles(), 0u);
    lane.room = 0; /* a part of the message is left, and nobody was refused yet */
    EXPECT_FALSE(channel.written());
    EXPECT_FALSE(channel.written());
    EXPECT_EQ(lane.waiting.size(), 1u);
    send(1); /* behind what is left */
    EXPECT_EQ(lane.waiting.size(), 1u);
    lane.give_room(100);
    EXPECT_EQ(lane.taken.size(), 2u);
    EXPECT_EQ(events.room, 1u);
    EXPECT_TRUE(channel.written());
}

/* Whatever room there is, messages come in order and once. */
TEST_F(ControlChannelTest, KeepsTheOrderThroughAnyRoom)
{
    std::mt19937 random(17);
    uint32_t     sent = 0;
    for (int i = 0; i < 5000; ++i) {
        if (random() % 3 != 0) {
            send(sent++);
        } else {
            lane.give_room(random() % 4);
        }
    }
    lane.give_room(SIZE_MAX);
    ASSERT_EQ(lane.taken.size(), sent);
    for (uint32_t i = 0; i < sent; ++i) {
        ASSERT_EQ(mark(lane.taken[i]), i);
    }
    EXPECT_EQ(channel.queue_bytes(), 0u);
}

} // namespace
