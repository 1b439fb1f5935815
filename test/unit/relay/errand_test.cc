/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "relay/errand.h"

#include "../host/fake_host.h"

#include <gtest/gtest.h>

namespace {

using fuselink::LeftBehind;
using fuselink::ProcessId;
using fuselink::RelayErrand;
using fuselink::RelayRegistry;
using fuselink::sched::Nanos;
using Course = RelayErrand::Course;

constexpr Nanos kNow = Nanos::seconds(1000);

/* Somebody who has posted a job, and the agent, in a registry of their own. */
struct Posted : testing::Test {
    Posted()
    {
        RelayRegistry::Offer offer;
        offer.base      = 0x10000;
        offer.slot_size = 4096;
        offer.slots     = 2;
        theirs->offer(agent, offer);
        place = *registry->take(agent, *registry->offer_of(agent), mine);
        registry->post(place, mine, {0, 100, 0, true});
        errand.begin(place, kNow);
    }
    /* The agent begins; then it may be stopped. */
    void run()
    {
        ASSERT_TRUE(theirs->next(agent, slot, job));
    }
    Course after(Nanos time) { return errand.look(*registry, mine, kNow + time); }

    FakeProcesses              here{1}, there{2};
    std::shared_ptr<RelayRegistry> registry   = RelayRegistry::make_private(here);
    std::shared_ptr<RelayRegistry> theirs = registry->seen_by(there);
    uint32_t         agent = *theirs->join(there.self(), {1, 1000}, kNow);
    uint32_t         mine  = *registry->join(here.self(), {2, 1000}, kNow);
    RelayRegistry::SlotHandle place{};
    uint32_t         slot = 0;
    RelayRegistry::Job   job;
    RelayErrand      errand;
};

using RelayErrandTest = Posted;
using LeftBehindTest  = Posted;

TEST_F(RelayErrandTest, IsDone)
{
    EXPECT_EQ(after(Nanos()), Course::Wait);
    run();
    EXPECT_EQ(after(Nanos::millis(1)), Course::Wait);
    theirs->done(agent, slot, true);
    EXPECT_EQ(after(Nanos::millis(2)), Course::Done);
}

TEST_F(RelayErrandTest, IsTakenBackWhenNobodyBeginsIt)
{
    EXPECT_EQ(after(RelayErrand::kLate), Course::Wait);
    EXPECT_EQ(after(RelayErrand::kLate + Nanos(1)), Course::Failed);
    EXPECT_FALSE(theirs->next(agent, slot, job));
}

TEST_F(RelayErrandTest, HasFailedIfTheAgentDies)
{
    run();
    here.others = ProcessId::Life::Gone;
    EXPECT_EQ(after(RelayErrand::kLook - Nanos(1)), Course::Wait);
    EXPECT_EQ(after(RelayErrand::kLook), Course::Failed);
}

/* The agent's program is stopped (SIGSTOP): it is alive and does nothing. */
TEST_F(RelayErrandTest, IsStuckWithAnAgentThatIsStopped)
{
    run();
    EXPECT_EQ(after(RelayErrand::kStuck), Course::Wait);
    EXPECT_EQ(after(RelayErrand::kStuck + Nanos(1)), Course::Stuck);
}

TEST_F(LeftBehindTest, IsKeptUntilTheAgentGoesOn)
{
    char       memory = 0, *freed = nullptr;
    auto       ended  = [&](char *host) { freed = host; };
    LeftBehind left;
    run();
    left.add(place, &memory);
    left.look(*registry, mine, ended);
    EXPECT_TRUE(left.with(agent));
    EXPECT_FALSE(left.with(mine));
    EXPECT_EQ(freed, nullptr);

    theirs->done(agent, slot, true);
    left.look(*registry, mine, ended);
    EXPECT_EQ(freed, &memory);
    EXPECT_TRUE(left.empty());
    EXPECT_FALSE(left.with(agent));
    EXPECT_TRUE(theirs->sweep(agent)); /* its slot was given back */
}

TEST_F(LeftBehindTest, IsOverWithTheAgent)
{
    char       memory = 0;
    unsigned   count  = 0;
    LeftBehind left;
    run();
    left.add(place, nullptr);
    left.add(place, &memory);
    here.others = ProcessId::Life::Gone;
    left.look(*registry, mine, [&](char *) { ++count; });
    EXPECT_EQ(count, 1u);
    EXPECT_TRUE(left.empty());
}

} // namespace
