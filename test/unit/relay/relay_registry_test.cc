/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "registry/relay_registry.h"

#include "../host/fake_host.h"

#include <gtest/gtest.h>
#include <set>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

using fuselink::ProcessId;
using fuselink::RelayRegistry;
using fuselink::sched::Nanos;
using State = RelayRegistry::State;

constexpr Nanos kNow = Nanos::seconds(1000);

RelayRegistry::Offer offer_of(uint32_t slots)
{
    RelayRegistry::Offer offer;
    offer.base      = 0x10000;
    offer.slot_size = 4096;
    offer.slots     = slots;
    return offer;
}

/* A process that is gone. */
ProcessId dead()
{
    int pipes[2];
    EXPECT_EQ(pipe(pipes), 0);
    pid_t pid = fork();
    if (pid == 0) {
        uint64_t word = ProcessId::self().word();
        _exit(write(pipes[1], &word, sizeof(word)) == sizeof(word) ? 0 : 1);
    }
    uint64_t word = 0;
    EXPECT_EQ(read(pipes[0], &word, sizeof(word)), ssize_t{sizeof(word)});
    close(pipes[0]);
    close(pipes[1]);
    waitpid(pid, nullptr, 0);
    return ProcessId(word);
}

struct Two {
    std::shared_ptr<RelayRegistry> registry  = RelayRegistry::make_private();
    uint32_t agent = *registry->join(ProcessId::self(), {1, 100}, kNow);
    uint32_t mine  = *registry->join(ProcessId::self(), {2, 200}, kNow);

    std::optional<RelayRegistry::SlotHandle> take()
    {
        auto offer = registry->offer_of(agent);
        return offer ? registry->take(agent, *offer, mine) : std::nullopt;
    }
};

TEST(RelayRegistry, SeatsAreForOne)
{
    auto registry = RelayRegistry::make_private();
    std::set<uint32_t> entries;
    for (uint32_t i = 0; i < RelayRegistry::kEntries; ++i) {
        auto entry = registry->join(ProcessId::self(), {}, kNow);
        ASSERT_TRUE(entry);
        EXPECT_TRUE(entries.insert(*entry).second);
    }
    EXPECT_FALSE(registry->join(ProcessId::self(), {}, kNow));
    registry->leave(5);
    EXPECT_FALSE(registry->at(5));
    EXPECT_EQ(registry->join(ProcessId::self(), {}, kNow), 5u);
}

TEST(RelayRegistry, TheSeatOfTheDeadIsTaken)
{
    auto      registry = RelayRegistry::make_private();
    ProcessId gone = dead();
    for (uint32_t i = 0; i < RelayRegistry::kEntries; ++i) {
        ASSERT_TRUE(registry->join(i == 7 ? gone : ProcessId::self(), {}, kNow));
    }
    registry->offer(7, offer_of(4));
    EXPECT_EQ(registry->join(ProcessId::self(), {3, 300}, kNow), 7u);
    EXPECT_FALSE(registry->offer_of(7));
    EXPECT_EQ(registry->host_of(7).magic, 3u);
}

/* A registry that is full of processes whose end cannot be seen. */
struct OfStrangers {
    OfStrangers()
    {
        here.others = there.others = ProcessId::Life::Unknown;
        for (uint32_t i = 0; i < RelayRegistry::kEntries; ++i) {
            EXPECT_EQ(theirs->join(there.self(), {i, 100}, kNow), i);
        }
    }

    FakeProcesses              here{1}, there{2};
    std::shared_ptr<RelayRegistry> ours   = RelayRegistry::make_private(here);
    std::shared_ptr<RelayRegistry> theirs = ours->seen_by(there);
};

TEST(RelayRegistry, SeatsOfTheSilentAreTakenWhenThereIsNoOther)
{
    OfStrangers registry;
    const Nanos late = kNow + RelayRegistry::kForgotten;
    EXPECT_FALSE(registry.ours->join(registry.here.self(), {}, late));
    EXPECT_TRUE(registry.theirs->keep(0, late));
    EXPECT_TRUE(registry.theirs->keep(1, late));
    EXPECT_EQ(registry.ours->join(registry.here.self(), {7, 700},
                                  late + Nanos(1)), 2u);
    EXPECT_EQ(registry.ours->at(2), registry.here.self());
    EXPECT_EQ(registry.ours->host_of(2).magic, 7u);
}

/* He had only been silent, and must leave the entry alone. */
TEST(RelayRegistry, WhoWasTakenForDeadIsTold)
{
    OfStrangers registry;
    const Nanos late = kNow + RelayRegistry::kForgotten + Nanos(1);
    ASSERT_EQ(registry.ours->join(registry.here.self(), {7, 700}, late), 0u);
    EXPECT_FALSE(registry.theirs->keep(0, late));
    EXPECT_TRUE(registry.ours->keep(0, late));
    registry.theirs->leave(0);
    EXPECT_EQ(registry.ours->at(0), registry.here.self());
}

TEST(RelayRegistry, OffersAreSeen)
{
    Two two;
    EXPECT_FALSE(two.registry->offer_of(two.agent));
    EXPECT_FALSE(two.take());
    two.registry->offer(two.agent, offer_of(4));
    ASSERT_TRUE(two.registry->offer_of(two.agent));
    EXPECT_EQ(two.registry->offer_of(two.agent)->slots, 4u);
    two.registry->withdraw(two.agent);
    EXPECT_FALSE(two.registry->offer_of(two.agent));
    two.registry->offer(two.agent, offer_of(5));
    EXPECT_EQ(two.registry->offer_of(two.agent)->slots, 5u);
}

TEST(RelayRegistry, OffersThatCannotBeAreNone)
{
    Two two;
    auto wrong = [&](auto &&change) {
        RelayRegistry::Offer offer = offer_of(4);
        change(offer);
        two.registry->offer(two.agent, offer);
        return !two.registry->offer_of(two.agent);
    };
    using Offer = RelayRegistry::Offer;
    EXPECT_TRUE(wrong([](Offer &o) { o.slots = 0; }));
    EXPECT_TRUE(wrong([](Offer &o) { o.slots = RelayRegistry::kSlots + 1; }));
    EXPECT_TRUE(wrong([](Offer &o) { o.slot_size = 0; }));
    EXPECT_TRUE(wrong([](Offer &o) { o.key_length = Offer::kMostKey + 1; }));
    EXPECT_TRUE(wrong([](Offer &o) { o.device_length = UINT32_MAX; }));
    EXPECT_TRUE(wrong([](Offer &o) { o.iface_length = 65; }));
    EXPECT_TRUE(wrong([](Offer &o) { o.base = UINT64_MAX - 4096; }));
    EXPECT_FALSE(wrong([](Offer &) {}));
}

TEST(RelayRegistry, AJobFromBeginningToEnd)
{
    Two two;
    two.registry->offer(two.agent, offer_of(1));
    auto place = two.take();
    ASSERT_TRUE(place);
    EXPECT_EQ(two.registry->look(*place, two.mine), State::Taken);
    EXPECT_FALSE(two.take()); /* there is one */

    uint32_t       slot;
    RelayRegistry::Job job;
    EXPECT_FALSE(two.registry->next(two.agent, slot, job));
    two.registry->post(*place, two.mine, {123, 45, 0, true});
    EXPECT_EQ(two.registry->look(*place, two.mine), State::Posted);
    ASSERT_TRUE(two.registry->next(two.agent, slot, job));
    EXPECT_EQ(slot, place->slot);
    EXPECT_EQ(job.host_offset, 123u);
    EXPECT_EQ(job.length, 45u);
    EXPECT_EQ(job.entry, two.mine);
    EXPECT_TRUE(job.out);
    EXPECT_EQ(two.registry->look(*place, two.mine), State::Running);
    EXPECT_FALSE(two.registry->next(two.agent, slot, job)); /* it has it */
    two.registry->done(two.agent, slot, true);
    EXPECT_EQ(two.registry->look(*place, two.mine), State::Done);
    two.registry->give(*place, two.mine);
    EXPECT_TRUE(two.take());
}

TEST(RelayRegistry, JobsAreDoneInOrder)
{
    Two two;
    two.registry->offer(two.agent, offer_of(3));
    std::vector<RelayRegistry::SlotHandle> places;
    for (int i = 0; i < 3; ++i) {
        places.push_back(*two.take());
    }
    for (int i : {2, 0, 1}) {
        two.registry->post(places[static_cast<size_t>(i)], two.mine,
                       {0, static_cast<uint32_t>(i + 1), 0, false});
    }
    uint32_t       slot;
    RelayRegistry::Job job;
    for (uint32_t length : {3u, 1u, 2u}) {
        ASSERT_TRUE(two.registry->next(two.agent, slot, job));
        EXPECT_EQ(job.length, length);
        EXPECT_FALSE(job.out);
    }
}

TEST(RelayRegistry, AFailedJobIsSeen)
{
    Two two;
    two.registry->offer(two.agent, offer_of(1));
    auto place = two.take();
    two.registry->post(*place, two.mine, {});
    uint32_t       slot;
    RelayRegistry::Job job;
    ASSERT_TRUE(two.registry->next(two.agent, slot, job));
    two.registry->done(two.agent, slot, false);
    EXPECT_EQ(two.registry->look(*place, two.mine), State::Failed);
    two.registry->give(*place, two.mine);
    EXPECT_TRUE(two.take());
}

TEST(RelayRegistry, WhoseSeatIsAnothersHasFailed)
{
    Two two;
    two.registry->offer(two.agent, offer_of(1));
    auto place = two.take();
    two.registry->post(*place, two.mine, {});
    two.registry->leave(two.agent);
    EXPECT_EQ(two.registry->look(*place, two.mine), State::Failed);
    EXPECT_EQ(two.registry->join(dead(), {}, kNow), two.agent);
    EXPECT_EQ(two.registry->look(*place, two.mine), State::Failed);
}

TEST(RelayRegistry, SlotsOfTheDeadAreSwept)
{
    auto     registry  = RelayRegistry::make_private();
    uint32_t agent = *registry->join(ProcessId::self(), {}, kNow);
    uint32_t gone  = *registry->join(dead(), {}, kNow);
    uint32_t mine  = *registry->join(ProcessId::self(), {}, kNow);
    registry->offer(agent, offer_of(2));
    auto offer = *registry->offer_of(agent);
    ASSERT_TRUE(registry->take(agent, offer, gone));
    auto place = registry->take(agent, offer, mine);
    ASSERT_TRUE(place);
    EXPECT_FALSE(registry->take(agent, offer, mine));
    EXPECT_FALSE(registry->sweep(agent));
    EXPECT_EQ(registry->look(*place, mine), State::Taken);
    EXPECT_TRUE(registry->take(agent, offer, mine));
    EXPECT_FALSE(registry->take(agent, offer, mine));
}

TEST(RelayRegistry, AJobIsTakenBackUntilItIsBegun)
{
    Two two;
    two.registry->offer(two.agent, offer_of(1));
    auto           place = two.take();
    uint32_t       slot;
    RelayRegistry::Job job;
    two.registry->post(*place, two.mine, {1, 2, 0, true});
    EXPECT_TRUE(two.registry->revoke(*place, two.mine));
    EXPECT_FALSE(two.registry->next(two.agent, slot, job));
    two.registry->post(*place, two.mine, {3, 4, 0, true});
    ASSERT_TRUE(two.registry->next(two.agent, slot, job));
    EXPECT_EQ(job.length, 4u);
    EXPECT_FALSE(two.registry->revoke(*place, two.mine));
    two.registry->done(two.agent, slot, true);
    EXPECT_FALSE(two.registry->revoke(*place, two.mine));
    EXPECT_EQ(two.registry->look(*place, two.mine), State::Done);
}

/* Its memory is another's by now. */
TEST(RelayRegistry, SlotsOnWishAreWantedFirst)
{
    Two              two;
    RelayRegistry::Offer offer = offer_of(4);
    offer.on_demand = 1;
    two.registry->offer(two.agent, offer);
    ASSERT_TRUE(two.registry->offer_of(two.agent));
    EXPECT_EQ(two.registry->offer_of(two.agent)->on_demand, 1u);
    EXPECT_FALSE(two.take());
    EXPECT_EQ(two.registry->demanded(two.agent), Nanos());
    uint32_t heard = two.registry->wait(two.agent, 0, Nanos(1));
    two.registry->demand(two.agent, Nanos(42));
    EXPECT_NE(two.registry->wait(two.agent, heard, Nanos(1)), heard);
    EXPECT_EQ(two.registry->demanded(two.agent), Nanos(42));
    two.registry->offer(two.agent, offer_of(4));
    EXPECT_TRUE(two.take());
    two.registry->leave(two.agent);
    ASSERT_EQ(two.registry->join(ProcessId::self(), {3, 300}, kNow), two.agent);
    EXPECT_EQ(two.registry->demanded(two.agent), Nanos()); /* of who was there before */
}

TEST(RelayRegistry, AnOldOfferIsNotTaken)
{
    Two two;
    two.registry->offer(two.agent, offer_of(4));
    auto old = *two.registry->offer_of(two.agent);
    ASSERT_TRUE(two.registry->take(two.agent, old, two.mine));
    two.registry->withdraw(two.agent);
    EXPECT_FALSE(two.registry->take(two.agent, old, two.mine));
    two.registry->offer(two.agent, offer_of(4));
    EXPECT_FALSE(two.registry->take(two.agent, old, two.mine));
    EXPECT_TRUE(two.take());
    /* The same process, once more. */
    old = *two.registry->offer_of(two.agent);
    two.registry->leave(two.agent);
    ASSERT_EQ(two.registry->join(ProcessId::self(), {1, 100}, kNow), two.agent);
    two.registry->offer(two.agent, offer_of(4));
    EXPECT_FALSE(two.registry->take(two.agent, old, two.mine));
    EXPECT_TRUE(two.take());
}

TEST(RelayRegistry, WhatWasBegunEndsAfterTheOffer)
{
    Two two;
    two.registry->offer(two.agent, offer_of(2));
    auto place = two.take();
    two.registry->withdraw(two.agent);
    EXPECT_FALSE(two.registry->sweep(two.agent));
    EXPECT_EQ(two.registry->look(*place, two.mine), State::Taken);
    two.registry->post(*place, two.mine, {});
    uint32_t       slot;
    RelayRegistry::Job job;
    ASSERT_TRUE(two.registry->next(two.agent, slot, job));
    EXPECT_FALSE(two.registry->sweep(two.agent));
    two.registry->done(two.agent, slot, true);
    EXPECT_EQ(two.registry->look(*place, two.mine), State::Done);
    two.registry->give(*place, two.mine);
    EXPECT_TRUE(two.registry->sweep(two.agent));
}

/* It is about memory of who had the entry before, and not of who has it now. */
TEST(RelayRegistry, JobsOfWhoSatThereBeforeAreNotDone)
{
    Two two;
    two.registry->offer(two.agent, offer_of(1));
    auto place = two.take();
    two.registry->post(*place, two.mine, {0, 100, 0, true});
    two.registry->leave(two.mine);
    FakeProcesses later(0x4711);
    ASSERT_EQ(two.registry->seen_by(later)->join(later.self(), {3, 300}, kNow),
              two.mine);
    uint32_t       slot;
    RelayRegistry::Job job;
    EXPECT_FALSE(two.registry->next(two.agent, slot, job));
    EXPECT_TRUE(two.registry->sweep(two.agent));
}

TEST(RelayRegistry, SlotsOfThoseWhoHaveLeftAreSwept)
{
    Two two;
    two.registry->offer(two.agent, offer_of(1));
    ASSERT_TRUE(two.take());
    EXPECT_FALSE(two.registry->sweep(two.agent));
    two.registry->leave(two.mine);
    EXPECT_TRUE(two.registry->sweep(two.agent));
}

/* Two who ask, in threads of their own, and an agent that sleeps in between. */
TEST(RelayRegistry, WorksForTwo)
{
    auto     registry  = RelayRegistry::make_private();
    uint32_t agent = *registry->join(ProcessId::self(), {}, kNow);
    registry->offer(agent, offer_of(3));
    auto offer = *registry->offer_of(agent);
    constexpr int kJobs = 2000;
    std::atomic<int> wrong{0};
    auto ask = [&](uint32_t id) {
        uint32_t mine = *registry->join(ProcessId::self(), {}, kNow);
        for (int i = 0; i < kJobs;) {
            auto place = registry->take(agent, offer, mine);
            if (!place) {
                std::this_thread::yield();
                continue;
            }
            registry->post(*place, mine, {id, static_cast<uint32_t>(i), 0, true});
            while (registry->look(*place, mine) == State::Posted ||
                   registry->look(*place, mine) == State::Running) {
                std::this_thread::yield();
            }
            wrong += registry->look(*place, mine) != State::Done;
            registry->give(*place, mine);
            ++i;
        }
    };
    std::thread first(ask, 1), second(ask, 2);
    int      done = 0, next[3] = {};
    uint32_t heard = 0;
    while (done < 2 * kJobs) {
        uint32_t       slot;
        RelayRegistry::Job job;
        while (registry->next(agent, slot, job)) {
            ASSERT_TRUE(job.host_offset == 1 || job.host_offset == 2);
            wrong += job.length !=
                     static_cast<uint32_t>(next[job.host_offset]++);
            registry->done(agent, slot, true);
            ++done;
        }
        if (done < 2 * kJobs) {
            heard = registry->wait(agent, heard, Nanos::seconds(1));
        }
    }
    first.join();
    second.join();
    EXPECT_EQ(wrong.load(), 0);
}

} // namespace
