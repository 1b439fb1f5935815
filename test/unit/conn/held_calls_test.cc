/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "conn/held_calls.h"

#include "fake_connection.h"
#include "fake_lane.h"

#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace {

using fuselink::HeldCalls;

constexpr uint8_t kId = 5;

/* What a program was called for, in order. */
std::vector<std::string> said;

struct Said { /* a completion that says its name */
    explicit Said(std::string text) : name(std::move(text))
    {
        fuselink::arm(comp, [](uct_completion_t *self) {
            said.push_back(reinterpret_cast<Said *>(self)->name);
        });
    }

    uct_completion_t comp; /* first */
    std::string      name;
};

class HeldCallsTest : public testing::Test {
protected:
    HeldCallsTest()
    {
        said.clear();
        iface.am[kId].arg = this;
        iface.am[kId].cb  = [](void *, void *data, size_t length, unsigned flags) {
            EXPECT_EQ(flags, 0u); /* nothing that could be kept */
            said.emplace_back(static_cast<char *>(data), length);
            return UCS_OK;
        };
    }

    FakeConnection   conn, other{8};
    HeldCalls       &held = conn.calls.held();
    uct_base_iface_t iface{};
};

TEST_F(HeldCallsTest, NothingIsHeldFromAProgramThatIsThere)
{
    EXPECT_FALSE(held.holding());
    Said done("done");
    conn.complete(&done.comp, UCS_OK);
    EXPECT_EQ(said, std::vector<std::string>{"done"});
}

TEST_F(HeldCallsTest, AProgramThatComesBackHearsOfAllInOrder)
{
    Said first("first"), last("last");
    held.begin_away();
    conn.complete(&first.comp, UCS_ERR_CANCELED);
    held.message(iface, kId, "message", 7);
    conn.unpack([](void *, const void *data, size_t length) {
        said.emplace_back(static_cast<const char *>(data), length);
    }, nullptr, "data", 4);
    held.answer(conn, [](void *who, const void *data, size_t length) {
        EXPECT_EQ(who, &said); /* whatever it was given */
        said.emplace_back(static_cast<const char *>(data), length);
    }, &said, "request", 7);
    conn.complete(&last.comp, UCS_OK);
    held.end_away();
    EXPECT_TRUE(said.empty());
    EXPECT_TRUE(held.holding());
    EXPECT_EQ(held.call_all(), 5u);
    EXPECT_EQ(said, (std::vector<std::string>{"first", "message", "data", "request",
                                              "last"}));
    EXPECT_EQ(first.comp.status, UCS_ERR_CANCELED);
    EXPECT_FALSE(held.any());
    EXPECT_FALSE(held.holding());
}

/* What comes while it hears the rest does not overtake that. */
TEST_F(HeldCallsTest, WhatComesMeanwhileIsBehind)
{
    struct Ending {
        uct_completion_t  comp; /* first */
        HeldCalls        *held;
        uct_base_iface_t *iface;
    } ending{{}, &held, &iface};
    fuselink::arm(ending.comp, [](uct_completion_t *self) {
        const auto &end = *reinterpret_cast<Ending *>(self);
        said.push_back("ending");
        EXPECT_TRUE(end.held->holding());
        end.held->message(*end.iface, kId, "late", 4);
    });
    Said next("next");
    held.begin_away();
    conn.complete(&ending.comp, UCS_OK);
    conn.complete(&next.comp, UCS_OK);
    held.end_away();
    held.call_all();
    EXPECT_EQ(said, (std::vector<std::string>{"ending", "next", "late"}));
}

TEST_F(HeldCallsTest, TheEndOfAnEndpointTellsWhatIsItsConnections)
{
    Said mine("mine"), theirs("theirs");
    held.begin_away();
    conn.complete(&mine.comp, UCS_OK);
    held.completion(other, &theirs.comp, UCS_OK);
    held.message(iface, kId, "message", 7);
    held.end_away();
    held.tell(conn);
    EXPECT_EQ(said, std::vector<std::string>{"mine"});
    held.call_all();
    EXPECT_EQ(said, (std::vector<std::string>{"mine", "theirs", "message"}));
}

TEST_F(HeldCallsTest, TheEndOfAllTellsOfOperationsOnly)
{
    Said done("done");
    held.begin_away();
    held.message(iface, kId, "message", 7);
    conn.complete(&done.comp, UCS_OK);
    held.end_away();
    held.end();
    EXPECT_EQ(said, std::vector<std::string>{"done"});
    EXPECT_FALSE(held.holding());
    EXPECT_FALSE(held.full());
}

TEST_F(HeldCallsTest, AConnectionThatIsNoMoreIsForgotten)
{
    Said done("done");
    held.begin_away();
    conn.complete(&done.comp, UCS_OK);
    held.answer(conn, [](void *, const void *, size_t) { FAIL(); }, nullptr, "", 0);
    held.owe(conn);
    held.owe(other);
    held.end_away();
    held.forget(conn);
    EXPECT_FALSE(held.holding());
    EXPECT_TRUE(held.any());
    EXPECT_EQ(held.call_all(), 0u);
    EXPECT_TRUE(said.empty());
    EXPECT_EQ(conn.deferred, 0u);
    EXPECT_EQ(other.deferred, 1u);
}

TEST_F(HeldCallsTest, WhoWaitsForTheProgramsTurnHasOne)
{
    held.begin_away();
    held.owe(conn);
    held.owe(conn);
    held.end_away();
    EXPECT_FALSE(held.holding()); /* what comes now may be told at once */
    held.call_all();
    EXPECT_EQ(conn.deferred, 1u);
    held.call_all();
    EXPECT_EQ(conn.deferred, 1u);
}

/* Not for what the program's own operations are told by. */
TEST_F(HeldCallsTest, MessagesAreWhatOthersWaitFor)
{
    Said done("done");
    held.begin_away();
    conn.complete(&done.comp, UCS_OK);
    EXPECT_FALSE(held.has_messages());
    held.message(iface, kId, "one", 3);
    held.message(iface, kId, "two", 3);
    held.end_away();
    held.tell(conn);
    EXPECT_TRUE(held.has_messages());
    held.call_all();
    EXPECT_FALSE(held.has_messages());
    held.begin_away();
    held.message(iface, kId, "late", 4);
    held.end();
    EXPECT_FALSE(held.has_messages());
}

/* Until the last has been told, whoever asks from inside. */
TEST_F(HeldCallsTest, WhoIsBehindMessagesWaitsUntilAllAreTold)
{
    static HeldCalls *asked;
    asked           = &held;
    iface.am[kId].cb = [](void *, void *, size_t, unsigned) {
        EXPECT_TRUE(asked->has_messages());
        return UCS_OK;
    };
    held.begin_away();
    held.message(iface, kId, "message", 7);
    held.answer(conn, [](void *, const void *, size_t) {
        EXPECT_TRUE(asked->has_messages());
    }, nullptr, "put", 3);
    held.end_away();
    EXPECT_EQ(held.call_all(), 2u);
    EXPECT_FALSE(held.has_messages());
}

TEST_F(HeldCallsTest, IsFullOfWhatWaitsForTheProgram)
{
    held.begin_away();
    held.note_waiting(4097);
    held.note_waiting(1); /* of another peer */
    EXPECT_TRUE(held.full());
    held.end_away();
    held.call_all();
    EXPECT_FALSE(held.full());
}

TEST_F(HeldCallsTest, IsFullOfMuchAndOfMany)
{
    const std::vector<char> large(512 << 10);
    held.begin_away();
    EXPECT_FALSE(held.full());
    for (int i = 0; i < 3; ++i) {
        EXPECT_FALSE(held.full());
        held.message(iface, kId, large.data(), large.size());
    }
    EXPECT_TRUE(held.full());
    held.end_away();
    held.call_all();
    EXPECT_FALSE(held.full());

    held.begin_away();
    unsigned count = 0;
    for (; !held.full() && count < 100000; ++count) {
        held.message(iface, kId, "", 0);
    }
    EXPECT_TRUE(held.full());
    EXPECT_LT(count, 10000u);
    held.end_away();
    held.call_all();
    EXPECT_FALSE(held.any());
}

} // namespace
