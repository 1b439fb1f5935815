/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "rma/open_gets.h"
#include "wire/messages.h"

#include "../conn/fake_connection.h"
#include "../conn/fake_lane.h"
#include "../host/fake_host.h"

#include <gtest/gtest.h>
#include <random>
#include <vector>

namespace {

using fuselink::ControlChannel;
using fuselink::Get;
using fuselink::GetOwner;
using fuselink::GetTable;
using fuselink::OpenGets;
using fuselink::OrderTracker;
using fuselink::PeerUser;
using fuselink::wire::ControlType;
using fuselink::wire::OpId;

class Owner final : public GetOwner {
public:
    uint64_t uuid() const override { return 0xabc; }
    bool     on_announced(uint8_t, uint8_t, uint32_t) override { return true; }
    void     on_landed(Get &, uint64_t) override {}
};

class ChannelEvents final : public ControlChannel::Events {
public:
    void on_first_taken() override {}
    void on_drained() override {}
    void on_room() override {}
    void on_lane_error(uct_ep_h, ucs_status_t) override {}
};

class OrderEvents final : public OrderTracker::Events {
public:
    void on_users_free() override {}
    void on_bulk_free() override {}
};

/* Copies that end when they are waited for. */
class Copies final : public OpenGets::Copies {
public:
    void wait() override
    {
        ++waits;
        if (get != nullptr) {
            get->arriving = 0;
        }
    }

    Get     *get   = nullptr;
    unsigned waits = 0;
};

class OpenGetsTest : public testing::Test {
protected:
    OpenGetsTest() { gets.set_copies(copies); }

    Get &begin(OpId &id, size_t length, FakeCompletion &done, bool by_message)
    {
        Get &get       = gets.begin(id);
        get.buffer     = buffer.data();
        get.length     = length;
        get.comp       = &done.comp;
        get.by_message = by_message;
        get.user       = &user;
        get.epoch      = order.begin_op();
        ++user.open;
        return get;
    }
    void data(const OpId &id, uint64_t offset, const std::vector<char> &bytes)
    {
        fuselink::wire::GetData head{};
        head.op     = id;
        head.offset = offset;
        std::vector<char> message(sizeof(head));
        memcpy(message.data(), &head, sizeof(head));
        message.insert(message.end(), bytes.begin(), bytes.end());
        gets.on_data(message.data(), message.size());
    }
    void done(const OpId &id, int status)
    {
        fuselink::wire::GetDone message{};
        message.op     = id;
        message.status = static_cast<decltype(message.status)>(status);
        gets.on_done(&message, sizeof(message));
    }
    void landed(const OpId &id, uint64_t length)
    {
        fuselink::wire::Landed message{};
        message.op     = id;
        message.length = static_cast<decltype(message.length)>(length);
        gets.on_landed(&message, sizeof(message));
    }

    FakeHost               host;
    FakeConnection         conn;
    ChannelEvents          channel_events;
    OrderEvents            order_events;
    ChannelParts   parts;
    ControlChannel         channel{conn, 1, 1, parts.memory, parts.timer,
                           channel_events};
    OrderTracker           order{conn, channel, order_events};
    fuselink::RegionTable  regions{host};
    fuselink::GpuCopies    gpu;
    fuselink::LocalMemory  memory{regions, gpu};
    GetTable               table{host};
    Owner                  owner, stranger;
    Copies                 copies;
    OpenGets               gets{conn, owner, table, order, memory};
    PeerUser               user;
    std::vector<char>      buffer = std::vector<char>(64, '.');
    OpId                   id{};
    FakeCompletion         told;
};

TEST_F(OpenGetsTest, TakesBytesInOrder)
{
    begin(id, 6, told, true);
    data(id, 0, {'a', 'b', 'c'});
    EXPECT_EQ(told.told, 0u);
    data(id, 3, {'d', 'e', 'f'});
    EXPECT_EQ(told.told, 1u);
    EXPECT_EQ(told.comp.status, UCS_OK);
    EXPECT_EQ(std::string(buffer.data(), 7), "abcdef.");
    EXPECT_FALSE(gets.open());
    EXPECT_EQ(user.open, 0u);
    EXPECT_FALSE(order.ops_open());
}

TEST_F(OpenGetsTest, UnpacksWhatHasComeInPartsWhole)
{
    Get &get       = begin(id, 4, told, true);
    get.buffer     = nullptr;
    get.unpack     = [](void *to, const void *from, size_t length) {
        static_cast<std::string *>(to)->assign(
            static_cast<const char *>(from), length);
    };
    std::string out;
    get.unpack_arg = &out;
    data(id, 0, {'a'});
    data(id, 1, {'b', 'c', 'd'});
    EXPECT_EQ(out, "abcd");
    EXPECT_EQ(told.told, 1u);
}

/* Nothing of it is written, and nothing ends. */
TEST_F(OpenGetsTest, TakesNothingThatWasNotAskedFor)
{
    begin(id, 6, told, true);
    data(id, 6, {'x'});                           /* behind its end */
    data(id, 7, {});
    data(id, UINT64_MAX, {'x'});
    data(id, 0, std::vector<char>(7, 'x'));       /* too much */
    data({id.slot, id.generation + 1}, 0, {'x'}); /* another's name */
    data({id.slot + 1, id.generation}, 0, {'x'});
    data({UINT32_MAX, id.generation}, 0, {'x'});
    landed(id, 1);                                /* it comes by messages */
    fuselink::wire::GetData head{};
    gets.on_data(&head, sizeof(head) - 1);
    gets.on_done(&head, 3);
    gets.on_landed(&head, 3);
    EXPECT_EQ(told.told, 0u);
    EXPECT_EQ(std::string(buffer.data(), 7), ".......");
    data(id, 0, std::vector<char>(6, 'y'));
    EXPECT_EQ(told.told, 1u);
    data(id, 0, std::vector<char>(6, 'x')); /* of one that has ended */
    EXPECT_EQ(std::string(buffer.data(), 7), "yyyyyy.");
    EXPECT_EQ(told.told, 1u);
}

TEST_F(OpenGetsTest, PartsMayComeInAnyOrder)
{
    begin(id, 6, told, true);
    data(id, 4, {'e', 'f'});
    data(id, 0, {'a'});
    EXPECT_EQ(told.told, 0u);
    data(id, 1, {'b', 'c', 'd'});
    EXPECT_EQ(told.told, 1u);
    EXPECT_EQ(std::string(buffer.data(), 7), "abcdef.");
}

TEST_F(OpenGetsTest, OfOthersItKnowsNothing)
{
    Get &get  = begin(id, 6, told, true);
    get.owner = &stranger;
    EXPECT_EQ(gets.find(id), nullptr);
    EXPECT_FALSE(gets.open());
    data(id, 0, std::vector<char>(6, 'x'));
    done(id, UCS_ERR_CANCELED);
    gets.end_all(UCS_ERR_CANCELED);
    gets.cancel(user);
    EXPECT_EQ(told.told, 0u);
    EXPECT_TRUE(conn.sent.empty());
}

TEST_F(OpenGetsTest, CountsWhatHasLanded)
{
    begin(id, 100, told, false);
    landed(id, 60);
    landed(id, 41); /* more than is missing */
    EXPECT_EQ(told.told, 0u);
    data(id, 60, {'x'}); /* it does not come by messages */
    EXPECT_EQ(buffer[60], '.');
    landed(id, 40);
    EXPECT_EQ(told.told, 1u);
    EXPECT_EQ(gets.landings(), 2u);
}

TEST_F(OpenGetsTest, APeersStatusIsOneOfUcx)
{
    for (int status : {int{UCS_OK}, 5, INT8_MAX, INT8_MIN, UCS_ERR_LAST - 1}) {
        FakeCompletion one;
        begin(id, 6, one, true);
        done(id, status);
        EXPECT_EQ(one.told, 1u);
        EXPECT_EQ(one.comp.status, UCS_ERR_IO_ERROR);
    }
    FakeCompletion one;
    begin(id, 6, one, true);
    done(id, UCS_ERR_INVALID_ADDR);
    EXPECT_EQ(one.comp.status, UCS_ERR_INVALID_ADDR);
}

/* The bytes of a get in place go to the user's memory until its owner stops. */
TEST_F(OpenGetsTest, CancelsByMessageAtOnceAndInPlaceByAsking)
{
    FakeCompletion in_place;
    OpId           other{};
    begin(id, 6, told, true);
    begin(other, 6, in_place, false);
    gets.cancel(user);
    EXPECT_EQ(told.told, 1u);
    EXPECT_EQ(told.comp.status, UCS_ERR_CANCELED);
    EXPECT_EQ(in_place.told, 0u);
    ASSERT_EQ(conn.sent.size(), 1u);
    const auto message = conn.last<fuselink::wire::GetCancel>();
    EXPECT_EQ(message.header.type, static_cast<uint8_t>(ControlType::GetCancel));
    EXPECT_TRUE(message.op == other);
    EXPECT_TRUE(gets.open());
}

TEST_F(OpenGetsTest, TellsNobodyOfAUserThatIsGone)
{
    FakeCompletion in_place;
    OpId           other{};
    begin(id, 6, told, true);
    begin(other, 6, in_place, false);
    gets.forget(user);
    landed(other, 6);
    EXPECT_EQ(told.told + in_place.told, 0u);
    EXPECT_FALSE(gets.open());
    EXPECT_FALSE(order.ops_open());
}

TEST_F(OpenGetsTest, EndsThoseThatOnlyWeWrite)
{
    FakeCompletion by_message, plain, named;
    OpId           ids[3];
    begin(ids[0], 6, by_message, true);
    begin(ids[1], 6, plain, false);
    begin(ids[2], 6, named, false).named = true;
    gets.end_ours(UCS_ERR_CONNECTION_RESET, true);
    EXPECT_EQ(by_message.told, 1u);
    EXPECT_EQ(plain.told, 0u);
    gets.end_ours(UCS_ERR_CONNECTION_RESET, false);
    EXPECT_EQ(plain.told, 1u);
    EXPECT_EQ(named.told, 0u);
    gets.end_all(UCS_ERR_CONNECTION_RESET);
    EXPECT_EQ(named.told, 1u);
}

/* What is still being copied writes to the user's memory. */
TEST_F(OpenGetsTest, WaitsForCopiesBeforeItEnds)
{
    Get &get     = begin(id, 6, told, false);
    get.arriving = 3;
    copies.get   = &get;
    gets.end(get, UCS_ERR_CANCELED);
    EXPECT_EQ(copies.waits, 1u);
    EXPECT_EQ(told.told, 1u);
}

/* A name that has been used opens nothing, though its slot is in use again. */
TEST_F(OpenGetsTest, NamesAreNotUsedAgain)
{
    std::vector<OpId> old;
    for (int i = 0; i < 1000; ++i) {
        FakeCompletion one;
        OpId           name{};
        begin(name, 1, one, true);
        for (const OpId &other : old) {
            ASSERT_EQ(gets.find(other), nullptr);
        }
        done(name, UCS_ERR_CANCELED);
        ASSERT_EQ(one.told, 1u);
        old.push_back(name);
    }
}

} // namespace
