/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "conn/side_lanes.h"

#include "channel_fixture.h"

#include <gtest/gtest.h>
#include <string>

namespace {

using fuselink::ControlChannel;
using fuselink::Count;
using Place = fuselink::MessageOrder::Place;

/* Another wire, for every second message. */
class FakeSides final : public fuselink::SideLanes {
public:
    Side choose() override
    {
        return ++asked % 2 == 0 ? Side{&lane, &pin} : Side{};
    }
    void gave(ucs_status_t status, size_t) override { statuses.push_back(status); }
    void lane_took(size_t) override { ++by_lane; }
    bool are_through() override { return through; }

    FakeLane                  lane;
    fuselink::MessagePin      pin;
    unsigned                  asked = 0, by_lane = 0;
    bool                      through = true;
    std::vector<ucs_status_t> statuses;
};

class SidesTest : public ControlChannelTest {
protected:
    SidesTest()
    {
        channel.set_peer_token(7);
        channel.set_sides(sides);
        channel.spread(true, 0);
    }

    void am(char text) { channel.am_short(3, 0, &text, 1); }
    /* The numbers of what an endpoint has taken. */
    static std::vector<unsigned> numbers(const FakeLane &lane)
    {
        std::vector<unsigned> all;
        for (const auto &message : lane.taken) {
            fuselink::wire::UserHeader header;
            memcpy(&header, message.data(), sizeof(header));
            all.push_back(header.number);
        }
        return all;
    }
    void acknowledge(uint16_t seen)
    {
        fuselink::wire::ControlHeader header{};
        header.seen = seen;
        channel.on_seen(header);
    }
    using Numbers = std::vector<unsigned>;

    FakeSides sides;
    Count     broke;
};

TEST_F(SidesTest, UsersMessagesGoOverBoth)
{
    for (char text : {'a', 'b', 'c', 'd'}) {
        am(text);
    }
    EXPECT_EQ(numbers(lane), (Numbers{0, 2}));
    EXPECT_EQ(numbers(sides.lane), (Numbers{1, 3}));
    EXPECT_EQ(sides.by_lane, 2u);
    send(9); /* fuselink's own stay on the lane */
    send(9);
    EXPECT_EQ(lane.taken.size(), 4u);
    EXPECT_EQ(sides.asked, 4u);
    acknowledge(6);
    EXPECT_EQ(channel.unseen(), 0u);
}

TEST_F(SidesTest, ThePeerIsToldToDoAsMuch)
{
    using fuselink::wire::kBeside;
    using fuselink::wire::kSpreads;
    am('a');
    am('b');
    EXPECT_EQ(lane.taken[0][0], 3);
    EXPECT_EQ(sides.lane.taken[0][0], 3 | kBeside);
    channel.spread(true, kSpreads);
    am('c');
    am('d');
    EXPECT_EQ(lane.taken[1][0], 3 | kSpreads);
    EXPECT_EQ(sides.lane.taken[1][0], 3 | kSpreads | kBeside);
    channel.spread(false, 0);
    channel.resend(broke);
    channel.look_for_room();
    EXPECT_EQ(lane.taken[4][0], 3);
}

TEST_F(SidesTest, TheLaneHasWhatTheOtherDoesNotTake)
{
    sides.lane.room = 0;
    for (char text : {'a', 'b', 'c'}) {
        am(text);
    }
    EXPECT_EQ(numbers(lane), (Numbers{0, 1, 2}));
    EXPECT_EQ(sides.statuses, std::vector<ucs_status_t>{UCS_ERR_NO_RESOURCE});
    sides.lane.broken = UCS_ERR_CONNECTION_RESET;
    am('d');
    EXPECT_EQ(numbers(lane), (Numbers{0, 1, 2, 3}));
    EXPECT_EQ(events.errors, 0u); /* of the lane there was none */
}

TEST_F(SidesTest, WhatAnotherLostGoesOverTheLane)
{
    for (char text : {'a', 'b', 'c', 'd'}) {
        am(text);
    }
    channel.spread(false, 0);
    acknowledge(1);
    channel.resend(broke);
    EXPECT_FALSE(channel.sent_all());
    /* Who is refused a flush for that can wait for room: else UCP asks for ever. */
    EXPECT_NE(channel.obstacles(), 0u);
    channel.look_for_room();
    EXPECT_EQ(channel.obstacles(), 0u);
    EXPECT_EQ(numbers(lane), (Numbers{0, 2, 1, 2, 3}));
    EXPECT_EQ(channel.resent(), 3 * (sizeof(fuselink::wire::UserHeader) + 9));
    channel.resend(broke); /* nothing is open there any more */
    channel.look_for_room();
    EXPECT_EQ(lane.taken.size(), 5u);
}

/* What another wire brings later still is of an earlier number. */
TEST_F(SidesTest, TheLaneGoesOnWithAnotherNumber)
{
    am('a');
    am('b');
    const uint8_t began = channel.lane();
    channel.spread(false, 0);
    channel.resend(broke);
    channel.look_for_room();
    ASSERT_EQ(numbers(lane), (Numbers{0, 0, 1}));
    fuselink::wire::UserHeader first, again;
    memcpy(&first, sides.lane.taken[0].data(), sizeof(first));
    memcpy(&again, lane.taken[2].data(), sizeof(again));
    EXPECT_EQ(again.number, first.number);
    EXPECT_TRUE(fuselink::wire::lane_before(first.lane, again.lane));
    EXPECT_EQ(channel.lane(), began); /* it is the same */
}

/* A flush has told the user that all is on its way, then a wire broke. */
TEST_F(SidesTest, TheLastWordIsBehindWhatGoesAgain)
{
    am('a');
    am('b');
    lane.room = 0;
    channel.resend(broke);
    channel.look_for_room();
    channel.set(ControlChannel::kFailed);
    EXPECT_FALSE(channel.gather());
    lane.room = 10;
    EXPECT_TRUE(channel.gather());
    EXPECT_EQ(numbers(lane), (Numbers{0, 0, 1}));
}

TEST_F(SidesTest, NothingGoesAgainThatHasCome)
{
    for (char text : {'a', 'b', 'c'}) {
        am(text);
    }
    acknowledge(2);
    channel.resend(broke);
    channel.look_for_room();
    EXPECT_EQ(numbers(lane), (Numbers{0, 2}));
}

TEST_F(SidesTest, TheLastWordIsBehindWhatOthersHave)
{
    for (char text : {'a', 'b'}) {
        am(text);
    }
    EXPECT_TRUE(channel.written());
    sides.through = false;
    EXPECT_FALSE(channel.written());
    channel.set(ControlChannel::kFailed);
    lane.room = 1;
    EXPECT_FALSE(channel.gather());
    lane.room = 10;
    EXPECT_TRUE(channel.gather());
    EXPECT_EQ(numbers(lane), (Numbers{0, 0, 1}));
    EXPECT_TRUE(channel.gather());
    EXPECT_EQ(lane.taken.size(), 3u);
}

/* A long message is sent from the log. */
TEST_F(SidesTest, StaysWhileAnEndpointSendsIt)
{
    const std::vector<char> bytes(20000, 'x');
    auto pack = [](void *dest, void *arg) {
        const auto &data = *static_cast<const std::vector<char> *>(arg);
        memcpy(dest, data.data(), data.size());
        return data.size();
    };
    am('a');
    channel.am_bcopy(3, pack, const_cast<std::vector<char> *>(&bytes), 65536);
    am('c');
    ASSERT_TRUE(sides.pin.held);
    acknowledge(3);
    EXPECT_EQ(channel.unseen(), 2u); /* it and what is behind it */
    uct_invoke_completion(&sides.pin.comp, UCS_ERR_CANCELED);
    EXPECT_FALSE(sides.pin.held);
    EXPECT_EQ(channel.unseen(), 0u);
}

TEST_F(SidesTest, HoldsWhatComesBeforeItsTurn)
{
    EXPECT_EQ(channel.take(1, 1, 0, 10), Place::Ahead);
    channel.hold(1, 0, "second", 6);
    EXPECT_FALSE(channel.holds_next());
    EXPECT_EQ(channel.take(1, 0, 0, 10), Place::Next);
    ASSERT_TRUE(channel.holds_next());
    const auto taken = channel.take_held();
    EXPECT_EQ(std::string(taken.message.data, taken.message.length), "second");
    channel.free_held(taken);
    EXPECT_FALSE(channel.holds_next());
    EXPECT_EQ(channel.take(1, 1, 0, 10), Place::Again);
}

} // namespace
