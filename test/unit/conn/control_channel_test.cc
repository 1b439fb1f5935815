/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "channel_fixture.h"

#include <gtest/gtest.h>
#include <memory>
#include <random>
#include <string>

namespace {

using fuselink::ControlChannel;
using fuselink::ControlQueue;
using fuselink::wire::ControlType;
using Place = fuselink::MessageOrder::Place;

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

TEST_F(ControlChannelTest, NothingGoesBeforeTheHello)
{
    FakeLane next;
    next.room = 0;
    channel.leave();
    EXPECT_FALSE(channel.taken());
    begin_lane(channel, next, rail);
    send(1);
    EXPECT_FALSE(channel.taken());
    next.give_room(2);
    EXPECT_TRUE(channel.taken());
    ASSERT_EQ(next.taken.size(), 2u);
    EXPECT_EQ(next.taken[0][0], static_cast<uint8_t>(ControlType::Hello));
    EXPECT_EQ(mark(next.taken[1]), 1u);
    EXPECT_EQ(events.first, 2u);
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
    std::vector<char> body(4096);
    fuselink::wire::KeyData answer{};
    answer.header.type = static_cast<uint8_t>(ControlType::KeyData);
    for (int i = 0; i < 10000 && !conn.failed(); ++i) {
        channel.send(&answer, sizeof(answer), body.data(), body.size());
    }
    EXPECT_EQ(conn.failure(), UCS_ERR_EXCEEDS_LIMIT);
    EXPECT_LE(channel.queue_bytes(), ControlQueue::kMaxAnswers);
    send(1);
    EXPECT_LE(channel.queue_bytes(), ControlQueue::kMaxAnswers);
}

/* An answer says how many were heard, and 0 that none was. */
TEST_F(ControlChannelTest, QuestionsAreCountedUntilTheyAreAnswered)
{
    fuselink::wire::ControlHeader answer{}, question{};
    for (unsigned i = 1; i <= 600; ++i) {
        const uint64_t before = channel.questions().asked();
        lane.taken.clear();
        channel.ask_seen();
        EXPECT_GT(channel.questions().asked(), before);
        ASSERT_EQ(lane.taken.size(), 1u);
        ASSERT_TRUE(fuselink::wire::parse(lane.taken[0].data(), lane.taken[0].size(),
                                          question));
        EXPECT_EQ(question.flags, fuselink::wire::kSeenAsk);
        EXPECT_NE(question.asks, 0);
        if (i % 3 == 0) {
            continue; /* the next answer is for both */
        }
        const uint64_t answered = channel.questions().answered();
        answer.asked = 0;
        channel.on_seen(answer);
        EXPECT_EQ(channel.questions().answered(), answered);
        answer.asked = question.asks;
        channel.on_seen(answer);
        EXPECT_EQ(channel.questions().answered(), channel.questions().asked());
        answer.asked = static_cast<uint8_t>(question.asks - 1);
        channel.on_seen(answer); /* it comes late */
        EXPECT_EQ(channel.questions().answered(), channel.questions().asked());
    }
}

TEST_F(ControlChannelTest, NothingIsAnsweredThatWasNotAsked)
{
    fuselink::wire::ControlHeader answer{};
    channel.ask_seen();
    for (unsigned asked : {0u, 2u, 3u, 255u}) {
        answer.asked = static_cast<uint8_t>(asked);
        channel.on_seen(answer);
        EXPECT_EQ(channel.questions().answered(), 0u) << asked;
    }
}

TEST_F(ControlChannelTest, ItsAnswersSayWhatItWasAsked)
{
    fuselink::wire::ControlHeader question{}, answer{};
    question.flags = fuselink::wire::kSeenAsk;
    for (uint8_t asks : {1, 2, 7, 255, 1}) {
        question.asks = asks;
        lane.taken.clear();
        channel.on_seen(question);
        ASSERT_EQ(lane.taken.size(), 1u);
        ASSERT_TRUE(fuselink::wire::parse(lane.taken[0].data(), lane.taken[0].size(),
                                          answer));
        EXPECT_EQ(answer.asked, asks);
        EXPECT_EQ(answer.flags, 0);
    }
}

/* What a lane took may be lost with it. */
TEST_F(ControlChannelTest, TheNextLaneTakesAllThatIsNotAcknowledged)
{
    for (uint32_t i = 1; i <= 3; ++i) {
        send(i);
    }
    lane.room = 0;
    send(4);
    fuselink::wire::ControlHeader seen{};
    seen.seen = 2;
    channel.on_seen(seen);
    channel.leave();
    EXPECT_TRUE(channel.connected());
    send(5);
    FakeLane next;
    begin_lane(channel, next, rail);
    ASSERT_EQ(next.taken.size(), 3u);
    for (uint32_t i = 0; i < 3; ++i) {
        EXPECT_EQ(mark(next.taken[i]), i + 3);
        fuselink::wire::ControlHeader header;
        memcpy(&header, next.taken[i].data(), sizeof(header));
        EXPECT_EQ(header.number, i + 2);
        EXPECT_EQ(header.lane, channel.lane());
    }
    EXPECT_EQ(channel.unseen(), 3u);
    EXPECT_EQ(channel.resent(), sizeof(fuselink::wire::Flush));
    /* And for people, of the rail that it had been on. */
    fuselink::RailHealth &health = rail.rail().health;
    EXPECT_EQ(health.messages_resent().value(), channel.resent());
    EXPECT_EQ(health.health().messages, 1u);
    channel.close();
    EXPECT_EQ(health.health().messages, 0u);
}

TEST_F(ControlChannelTest, KeepsTheMessageThatALaneFailedWith)
{
    lane.broken = UCS_ERR_CONNECTION_RESET;
    send(1);
    EXPECT_EQ(events.errors, 1u);
    EXPECT_TRUE(lane.taken.empty());
    FakeLane next;
    channel.leave();
    begin_lane(channel, next, rail);
    ASSERT_EQ(next.taken.size(), 1u);
    EXPECT_EQ(mark(next.taken[0]), 1u);
}

TEST_F(ControlChannelTest, ACallersErrorSaysNothingOfTheLane)
{
    for (auto status : {UCS_ERR_INVALID_PARAM, UCS_ERR_UNSUPPORTED,
                        UCS_ERR_EXCEEDS_LIMIT, UCS_ERR_NO_MEMORY, UCS_OK,
                        UCS_INPROGRESS}) {
        EXPECT_EQ(channel.outcome(status), status);
        EXPECT_EQ(events.errors, 0u);
        EXPECT_EQ(channel.obstacles(), 0u);
    }
    EXPECT_EQ(channel.outcome(UCS_ERR_CONNECTION_RESET), UCS_ERR_NO_RESOURCE);
    EXPECT_EQ(events.errors, 1u);
}

/* The bound of what is kept is back-pressure. */
TEST_F(ControlChannelTest, UsersWaitForAcknowledgements)
{
    channel.set_peer_token(5);
    std::vector<char> payload(1000);
    uint32_t          sent = 0;
    while (channel.obstacles() == 0 && sent < 100000) {
        channel.am_short(3, 0, payload.data(), 1000);
        ++sent;
    }
    EXPECT_EQ(channel.obstacles(), unsigned{ControlChannel::kUnseen});
    EXPECT_EQ(lane.taken.size(), sent);
    EXPECT_LT(sent, 1100u);
    fuselink::wire::ControlHeader seen{};
    seen.seen = static_cast<fuselink::wire::MessageNumber>(sent + 1);
    channel.on_seen(seen); /* what was not sent is not acknowledged */
    EXPECT_TRUE(channel.has(ControlChannel::kUnseen));
    seen.seen = static_cast<fuselink::wire::MessageNumber>(sent);
    channel.on_seen(seen);
    EXPECT_EQ(channel.obstacles(), 0u);
    EXPECT_EQ(channel.unseen(), 0u);
    channel.look_for_room();
    EXPECT_EQ(events.room, 1u);
}

TEST_F(ControlChannelTest, TellsWhatHasComeAfterAWhile)
{
    parts.host.time = fuselink::sched::Nanos::millis(1);
    EXPECT_EQ(channel.take(1, 0, 0, 100), Place::Next);
    EXPECT_FALSE(parts.timer.empty());
    for (int i = 0; i < 1000; ++i) {
        parts.timer.check();
    }
    EXPECT_TRUE(lane.taken.empty()); /* it has just come */
    parts.host.time = fuselink::sched::Nanos::millis(20);
    for (int i = 0; i < 1000 && !parts.timer.empty(); ++i) {
        parts.timer.check();
    }
    ASSERT_EQ(lane.taken.size(), 1u);
    fuselink::wire::ControlHeader header;
    memcpy(&header, lane.taken[0].data(), sizeof(header));
    EXPECT_EQ(header.type, static_cast<uint8_t>(ControlType::Seen));
    EXPECT_EQ(header.seen, 1u);
}

TEST_F(ControlChannelTest, AnAnswerTellsItAsWell)
{
    EXPECT_EQ(channel.take(1, 0, 0, 100), Place::Next);
    send(1);
    parts.timer.tell_all();
    ASSERT_EQ(lane.taken.size(), 1u);
    fuselink::wire::ControlHeader header;
    memcpy(&header, lane.taken[0].data(), sizeof(header));
    EXPECT_EQ(header.seen, 1u);
}

/* It may have come over an earlier lane, and never go again. */
TEST_F(ControlChannelTest, WhatWaitsHasToldNothing)
{
    FakeLane next;
    next.room  = 1; /* for the hello */
    next.tells = false;
    send(1);
    begin_lane(channel, next, rail);
    EXPECT_EQ(channel.take(1, 0, 0, 100), Place::Next);
    channel.look_for_room(); /* in vain */
    fuselink::wire::ControlHeader header{};
    header.seen = 1;
    channel.on_seen(header);
    parts.timer.tell_all();
    next.room = 1;
    channel.look_for_room();
    ASSERT_EQ(next.taken.size(), 1u);
    memcpy(&header, next.taken[0].data(), sizeof(header));
    EXPECT_EQ(header.type, static_cast<uint8_t>(ControlType::Seen));
    EXPECT_EQ(header.seen, 1u);
}

/* Its peer sends it on another lane once more, and says with it what it has had. */
TEST_F(ControlChannelTest, ARepeatedMessageAcknowledges)
{
    send(1);
    send(2);
    EXPECT_EQ(channel.take(1, 0, 0, 100), Place::Next);
    EXPECT_EQ(channel.take(2, 0, 1, 100), Place::Again);
    EXPECT_EQ(channel.unseen(), 1u);
    EXPECT_EQ(channel.take(1, 0, 2, 100), Place::Again); /* late */
    EXPECT_EQ(channel.unseen(), 1u);
    EXPECT_EQ(conn.failure(), UCS_OK);
}

/* More than it may have on its way. */
TEST_F(ControlChannelTest, EndsWithAPeerThatIsTooFarAhead)
{
    EXPECT_EQ(channel.take(1, 0, 0, 100), Place::Next);
    EXPECT_EQ(channel.take(1, 0, 0, 100), Place::Again);
    EXPECT_EQ(channel.take(1, 2, 0, 100), Place::Ahead);
    channel.hold(2, 0, "second", 6);
    EXPECT_EQ(conn.failure(), UCS_OK);
    EXPECT_EQ(channel.take(1, 0x4000, 0, 100), Place::Ahead);
    channel.hold(0x4000, 0, "far", 3);
    EXPECT_EQ(conn.failure(), UCS_ERR_IO_ERROR);
}

TEST_F(ControlChannelTest, AFlushAsksForWhatIsTheUsers)
{
    send(1);
    EXPECT_FALSE(channel.unflushed());
    channel.am_short(3, 0, nullptr, 0);
    EXPECT_TRUE(channel.unflushed());
    channel.note_flush();
    EXPECT_TRUE(channel.take_unfenced());
    EXPECT_FALSE(channel.take_unfenced());
    channel.note_rma();
    EXPECT_TRUE(channel.unflushed());
    EXPECT_FALSE(channel.take_unfenced());
}

/* It is accepted: nobody else is to come before it. */
TEST_F(ControlChannelTest, AMessageWithoutRoomIsSentLater)
{
    lane.room = 0;
    channel.am_short(3, 0, nullptr, 0);
    EXPECT_TRUE(channel.unflushed());
    EXPECT_TRUE(channel.has(ControlChannel::kBlocked));
    EXPECT_FALSE(channel.sent_all());
    lane.give_room(1);
    EXPECT_EQ(lane.taken.size(), 1u);
    EXPECT_TRUE(channel.sent_all());
}

TEST_F(ControlChannelTest, IsWrittenWhenAStreamHasRoom)
{
    channel.am_short(3, 0, nullptr, 0);
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

/* Two ends whose lanes break again and again, with what they had taken. Each message
 * comes once, and in order. */
TEST(ControlChannels, MessagesChangeLanes)
{
    struct Side {
        Side() { events.channel = &channel; }

        FakeConnection conn;
        NamedRail      rail;
        ChannelEvents  events;
        ChannelParts   parts;
        ControlChannel channel{conn,         0x1234,      1,
                               parts.memory, parts.timer, events};
        std::unique_ptr<FakeLane> lane;
        size_t   read = 0; /* of the lane, by the other side */
        uint32_t sent = 0, came = 0;
    };
    std::mt19937 random(11);
    Side         sides[2];
    const auto   open = [&](Side &side) {
        side.lane = std::make_unique<FakeLane>();
        begin_lane(side.channel, *side.lane, side.rail, {64, 1 << 20});
        side.read = 0;
        side.lane->room = random() % 20;
    };
    const auto read = [&](Side &from, Side &to, size_t most) {
        while (from.read < from.lane->taken.size() && most-- != 0) {
            const auto &message = from.lane->taken[from.read++];
            fuselink::wire::ControlHeader header;
            ASSERT_TRUE(fuselink::wire::parse(message.data(), message.size(),
                                              header));
            if (header.type == static_cast<uint8_t>(ControlType::Seen)) {
                to.channel.on_seen(header);
            } else if (fuselink::wire::is_numbered(
                           static_cast<ControlType>(header.type)) &&
                       to.channel.take(header.lane, header.number, header.seen,
                                       message.size()) == Place::Next) {
                fuselink::wire::Flush flush;
                ASSERT_TRUE(fuselink::wire::parse(message.data(),
                                                  message.size(), flush));
                ASSERT_EQ(flush.sn, to.came++);
            }
        }
    };
    open(sides[0]);
    open(sides[1]);
    for (int i = 0; i < 60000 || sides[0].came != sides[1].sent ||
                    sides[1].came != sides[0].sent; ++i) {
        ASSERT_LT(i, 200000);
        Side &side  = sides[random() % 2];
        Side &other = &side == sides ? sides[1] : sides[0];
        switch (random() % 16) {
        case 0:
            if (random() % 8 == 0 && i < 60000) {
                side.channel.leave(); /* what was not read is lost */
                side.channel.set(ControlChannel::kConnecting);
                open(side);
            }
            break;
        case 1:
        case 2:
        case 3:
            side.lane->give_room(random() % 20);
            break;
        case 4:
            side.parts.timer.tell_all();
            break;
        case 5:
        case 6:
        case 7:
            side.channel.look_for_room();
            read(side, other, random() % 10);
            break;
        default:
            if (i < 60000 && side.channel.queue_bytes() < 10000) {
                fuselink::wire::Flush message{};
                message.header.type =
                    static_cast<uint8_t>(ControlType::PathBroken);
                message.sn = side.sent++;
                side.channel.send(&message, sizeof(message), nullptr, 0);
            }
        }
        if (HasFatalFailure()) {
            return;
        }
    }
    EXPECT_GT(sides[0].sent, 10000u);
    EXPECT_GT(sides[0].channel.resent(), 0u);
    EXPECT_FALSE(sides[0].conn.failed() || sides[1].conn.failed());
}

/* Puts of the lane's NIC: those that may not be done are sent at their places, but not
 * before the peer confirms that the lane is gone; until they are done users wait. */
class PutsTest : public ControlChannelTest {
protected:
    void keep(uint64_t serial, char byte)
    {
        fuselink::wire::PutData header{};
        header.header.type = static_cast<uint8_t>(ControlType::PutData);
        header.remote      = serial;
        channel.keep_put(serial, header, &byte, 1);
    }
    /* Another lane, as after the one before broke. */
    void move(FakeLane &next)
    {
        channel.leave();
        channel.open(&next, named(), 0, {0, 8192});
        std::vector<uint8_t> hello(sizeof(fuselink::wire::Hello));
        hello[0] = static_cast<uint8_t>(ControlType::Hello);
        channel.send_first(hello);
    }
    /* A rail of which the channel only asks whether it has queue pairs. */
    fuselink::Rail &named() { return rail.rail(); }
    static std::string order_of(const FakeLane &lane)
    {
        std::string order;
        for (const auto &message : lane.taken) {
            switch (static_cast<ControlType>(message[0])) {
            case ControlType::Hello:
                order += "h";
                break;
            case ControlType::Seen:
                order += "s";
                break;
            case ControlType::PutData:
                order += static_cast<char>(message.back());
                break;
            default:
                order += static_cast<char>('0' + mark(message));
            }
        }
        return order;
    }
    void acknowledge(uint16_t seen)
    {
        fuselink::wire::ControlHeader header{};
        header.seen = seen;
        channel.on_seen(header);
    }
};

TEST_F(PutsTest, GoAgainAtTheirPlaces)
{
    keep(1, 'a');
    send(0);
    keep(2, 'b');
    keep(3, 'c');
    send(1);
    keep(4, 'd');
    EXPECT_EQ(order_of(lane), "01");
    FakeLane next;
    move(next);
    send(2);
    EXPECT_EQ(order_of(next), "h"); /* what is executed late must be over */
    EXPECT_TRUE(channel.has(ControlChannel::kPutsAgain));
    EXPECT_FALSE(channel.sent_all());
    channel.on_confirmed(1);
    channel.look_for_room();
    EXPECT_EQ(order_of(next), "h");
    channel.say_seen(); /* for which the peer may wait itself */
    EXPECT_EQ(order_of(next), "hs");
    acknowledge(1); /* and so the first of the puts is done */
    channel.on_confirmed(channel.lane());
    channel.look_for_room();
    EXPECT_EQ(order_of(next), "hsbc1d2");
    fuselink::wire::ControlHeader put;
    memcpy(&put, next.taken[2].data(), sizeof(put));
    EXPECT_EQ(put.number, 1u);
    EXPECT_EQ(put.flags, fuselink::wire::kPutAgain);
    EXPECT_EQ(put.lane, channel.lane());
    channel.puts_done(4); /* of an earlier lane: they are messages by now */
    EXPECT_TRUE(channel.has(ControlChannel::kPutsAgain));
    acknowledge(2);
    EXPECT_TRUE(channel.puts_kept());
    acknowledge(3);
    EXPECT_FALSE(channel.puts_kept());
    EXPECT_FALSE(channel.has(ControlChannel::kPutsAgain));
    EXPECT_TRUE(channel.sent_all());
}

TEST_F(PutsTest, GoAgainOverEachLane)
{
    keep(1, 'a');
    FakeLane second, third, fourth;
    move(second);
    channel.on_confirmed(channel.lane());
    channel.look_for_room();
    EXPECT_EQ(order_of(second), "ha");
    move(third);
    channel.look_for_room();
    EXPECT_EQ(order_of(third), "h"); /* it asks anew */
    channel.on_confirmed(channel.lane());
    channel.look_for_room();
    EXPECT_EQ(order_of(third), "ha");
    channel.move_to(&fourth, named(), 0, {0, 8192}); /* nothing broke */
    channel.look_for_room();
    EXPECT_EQ(order_of(fourth), "a");
}

TEST_F(PutsTest, AFullLogIsNoRoom)
{
    uint64_t serial = 0;
    while (!channel.has(ControlChannel::kPutsOpen)) {
        keep(++serial, 'x');
        ASSERT_LE(serial, fuselink::PutLog::kMaxPuts);
    }
    EXPECT_TRUE(channel.puts_ask_due());
    channel.puts_done(serial / 2);
    EXPECT_FALSE(channel.has(ControlChannel::kPutsOpen));
    const unsigned before = events.room;
    channel.look_for_room();
    EXPECT_EQ(events.room, before + 1);
}

/* With nothing that anybody may want to hear of. */
TEST_F(ControlChannelTest, IsAtRest)
{
    EXPECT_TRUE(channel.at_rest());
    channel.set(ControlChannel::kFenceDue); /* of a fence it hears later */
    EXPECT_TRUE(channel.at_rest());
    channel.set(ControlChannel::kConnecting);
    EXPECT_FALSE(channel.at_rest());
    channel.clear(ControlChannel::kConnecting | ControlChannel::kFenceDue);
    send(1);
    EXPECT_FALSE(channel.at_rest()) << "the peer has not acknowledged it";
    fuselink::wire::ControlHeader seen{};
    seen.seen = channel.next_number();
    channel.on_seen(seen);
    EXPECT_TRUE(channel.at_rest());
}

TEST_F(ControlChannelTest, WhatItSaysEndsARest)
{
    send(1);
    channel.say_seen();
    EXPECT_EQ(conn.roused, 0u);
    channel.set(ControlChannel::kResting);
    send(2);
    EXPECT_EQ(conn.roused, 1u);
    channel.say_seen();
    EXPECT_EQ(conn.roused, 2u);
    channel.leave();
    EXPECT_EQ(conn.roused, 3u);
}

} // namespace
