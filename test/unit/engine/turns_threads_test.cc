/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "engine/turns.h"

#include <atomic>
#include <gtest/gtest.h>
#include <thread>

namespace {

using fuselink::Turns;

/* What both use, and nobody guards but the turns. */
struct Shared {
    unsigned program = 0, deputy = 0;
};

TEST(Turns, AreOneAtATime)
{
    constexpr unsigned kCalls = 20000;
    Turns             turns;
    Shared            shared;
    std::atomic<bool> over{false};
    turns.share(true);
    std::thread deputy([&] {
        while (!over.load()) {
            if (turns.take()) {
                ++shared.deputy;
                turns.give_back();
            }
        }
    });
    for (unsigned i = 0; i < kCalls; ++i) {
        const Turns::Own outer(turns);
        {
            const Turns::Own inner(turns); /* of a callback */
            ++shared.program;
        }
        ++shared.program;
    }
    over = true;
    deputy.join();
    turns.share(false);
    EXPECT_EQ(shared.program, 2 * kCalls);
    EXPECT_EQ(turns.calls(), kCalls); /* the inner ones are none */
    EXPECT_TRUE(turns.take());
    turns.give_back();
}

TEST(Turns, ADeputyDoesNotWaitForAProgram)
{
    Turns turns;
    turns.share(true);
    {
        const Turns::Own own(turns);
        std::thread([&] { EXPECT_FALSE(turns.take()); }).join();
    }
    std::thread([&] {
        EXPECT_TRUE(turns.take());
        turns.give_back();
    }).join();
    turns.share(false);
}

TEST(Turns, AProgramThatWaitsIsSeen)
{
    Turns turns;
    turns.share(true);
    ASSERT_TRUE(turns.take());
    EXPECT_FALSE(turns.wanted());
    std::thread program([&] { const Turns::Own own(turns); });
    while (!turns.wanted()) {
        std::this_thread::yield();
    }
    EXPECT_FALSE(turns.take()); /* nor once more before it */
    turns.give_back();
    program.join();
    EXPECT_EQ(turns.calls(), 1u);
    turns.share(false);
}

TEST(Turns, WithoutADeputyNothingIsCounted)
{
    Turns turns;
    {
        const Turns::Own own(turns);
    }
    EXPECT_EQ(turns.calls(), 0u);
}

} // namespace
