/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_UNIT_CONN_CHANNEL_FIXTURE_H
#define FUSELINK_TEST_UNIT_CONN_CHANNEL_FIXTURE_H

#include "conn/control_channel.h"
#include "wire/messages.h"

#include "fake_connection.h"
#include "fake_lane.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <vector>

/** What a channel tells, counted. */
class ChannelEvents final : public fuselink::ControlChannel::Events {
public:
    void on_first_taken() override { ++first; }
    void on_drained() override { ++drained; }
    void on_room() override { ++room; }
    void on_lane_error(uct_ep_h, ucs_status_t) override
    {
        ++errors;
        channel->set(fuselink::ControlChannel::kConnecting);
    }

    fuselink::ControlChannel *channel = nullptr;
    unsigned                  first = 0, drained = 0, room = 0, errors = 0;
};

/** A channel on a lane that has taken a hello. */
class ControlChannelTest : public testing::Test {
protected:
    ControlChannelTest()
    {
        events.channel = &channel;
        begin_lane(channel, lane, rail);
    }

    /* A message that is known again. */
    void send(uint32_t mark, fuselink::wire::ControlType type =
                                 fuselink::wire::ControlType::PathBroken)
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

    FakeConnection           conn;
    FakeLane                 lane;
    NamedRail                rail;
    ChannelEvents            events;
    ChannelParts             parts;
    fuselink::ControlChannel channel{conn,         0x1234,      1,
                                     parts.memory, parts.timer, events};
};

#endif
