/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "relay/hall.h"

#include "../host/fake_host.h"

#include <gtest/gtest.h>
#include <set>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

using fuselink::ProcessId;
using fuselink::RelayHall;
using fuselink::sched::Nanos;
using State = RelayHall::State;

constexpr Nanos kNow = Nanos::seconds(1000);

RelayHall::Offer offer_of(uint32_t slots)
{
    RelayHall::Offer offer;
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
    std::shared_ptr<RelayHall> hall  = RelayHall::make_private();
    uint32_t agent = *hall->sit(ProcessId::self(), {1, 100}, kNow);
    uint32_t mine  = *hall->sit(ProcessId::self(), {2, 200}, kNow);

    std::optional<RelayHall::Place> take()
    {
        auto offer = hall->offer_of(agent);
        return offer ? hall->take(agent, *offer, mine) : std::nullopt;
    }
};

TEST(RelayHall, SeatsAreForOne)
{
    auto hall = RelayHall::make_private();
    std::set<uint32_t> seats;
    for (uint32_t i = 0; i < RelayHall::kSeats; ++i) {
        auto seat = hall->sit(ProcessId::self(), {}, kNow);
        ASSERT_TRUE(seat);
        EXPECT_TRUE(seats.insert(*seat).second);
    }
    EXPECT_FALSE(hall->sit(ProcessId::self(), {}, kNow));
    hall->stand_up(5);
    EXPECT_FALSE(hall->at(5));
    EXPECT_EQ(hall->sit(ProcessId::self(), {}, kNow), 5u);
}

TEST(RelayHall, TheSeatOfTheDeadIsTaken)
{
    auto      hall = RelayHall::make_private();
    ProcessId gone = dead();
    for (uint32_t i = 0; i < RelayHall::kSeats; ++i) {
        ASSERT_TRUE(hall->sit(i == 7 ? gone : ProcessId::self(), {}, kNow));
    }
    hall->offer(7, offer_of(4));
    EXPECT_EQ(hall->sit(ProcessId::self(), {3, 300}, kNow), 7u);
    EXPECT_FALSE(hall->offer_of(7));
    EXPECT_EQ(hall->host_of(7).magic, 3u);
}

/* A hall that is full of processes whose end cannot be seen. */
struct OfStrangers {
    OfStrangers()
    {
        here.others = there.others = ProcessId::Life::Unknown;
        for (uint32_t i = 0; i < RelayHall::kSeats; ++i) {
            EXPECT_EQ(theirs->sit(there.self(), {i, 100}, kNow), i);
        }
    }

    FakeProcesses              here{1}, there{2};
    std::shared_ptr<RelayHall> ours   = RelayHall::make_private(here);
    std::shared_ptr<RelayHall> theirs = ours->seen_by(there);
};

TEST(RelayHall, SeatsOfTheSilentAreTakenWhenThereIsNoOther)
{
    OfStrangers hall;
    const Nanos late = kNow + RelayHall::kForgotten;
    EXPECT_FALSE(hall.ours->sit(hall.here.self(), {}, late));
    EXPECT_TRUE(hall.theirs->keep(0, late));
    EXPECT_TRUE(hall.theirs->keep(1, late));
    EXPECT_EQ(hall.ours->sit(hall.here.self(), {7, 700}, late + Nanos(1)), 2u);
    EXPECT_EQ(hall.ours->at(2), hall.here.self());
    EXPECT_EQ(hall.ours->host_of(2).magic, 7u);
}

/* He had only been silent, and must leave the seat alone. */
TEST(RelayHall, WhoWasTakenForDeadIsTold)
{
    OfStrangers hall;
    const Nanos late = kNow + RelayHall::kForgotten + Nanos(1);
    ASSERT_EQ(hall.ours->sit(hall.here.self(), {7, 700}, late), 0u);
    EXPECT_FALSE(hall.theirs->keep(0, late));
    EXPECT_TRUE(hall.ours->keep(0, late));
    hall.theirs->stand_up(0);
    EXPECT_EQ(hall.ours->at(0), hall.here.self());
}

TEST(RelayHall, OffersAreSeen)
{
    Two two;
    EXPECT_FALSE(two.hall->offer_of(two.agent));
    EXPECT_FALSE(two.take());
    two.hall->offer(two.agent, offer_of(4));
    ASSERT_TRUE(two.hall->offer_of(two.agent));
    EXPECT_EQ(two.hall->offer_of(two.agent)->slots, 4u);
    two.hall->withdraw(two.agent);
    EXPECT_FALSE(two.hall->offer_of(two.agent));
    two.hall->offer(two.agent, offer_of(5));
    EXPECT_EQ(two.hall->offer_of(two.agent)->slots, 5u);
}

TEST(RelayHall, OffersThatCannotBeAreNone)
{
    Two two;
    auto wrong = [&](auto &&change) {
        RelayHall::Offer offer = offer_of(4);
        change(offer);
        two.hall->offer(two.agent, offer);
        return !two.hall->offer_of(two.agent);
    };
    using Offer = RelayHall::Offer;
    EXPECT_TRUE(wrong([](Offer &o) { o.slots = 0; }));
    EXPECT_TRUE(wrong([](Offer &o) { o.slots = RelayHall::kSlots + 1; }));
    EXPECT_TRUE(wrong([](Offer &o) { o.slot_size = 0; }));
    EXPECT_TRUE(wrong([](Offer &o) { o.key_length = Offer::kMostKey + 1; }));
    EXPECT_TRUE(wrong([](Offer &o) { o.device_length = UINT32_MAX; }));
    EXPECT_TRUE(wrong([](Offer &o) { o.iface_length = 65; }));
    EXPECT_TRUE(wrong([](Offer &o) { o.base = UINT64_MAX - 4096; }));
    EXPECT_FALSE(wrong([](Offer &) {}));
}

TEST(RelayHall, AJobFromBeginningToEnd)
{
    Two two;
    two.hall->offer(two.agent, offer_of(1));
    auto place = two.take();
    ASSERT_TRUE(place);
    EXPECT_EQ(two.hall->look(*place, two.mine), State::Taken);
    EXPECT_FALSE(two.take()); /* there is one */

    uint32_t       slot;
    RelayHall::Job job;
    EXPECT_FALSE(two.hall->next(two.agent, slot, job));
    two.hall->post(*place, two.mine, {123, 45, 0, true});
    EXPECT_EQ(two.hall->look(*place, two.mine), State::Posted);
    ASSERT_TRUE(two.hall->next(two.agent, slot, job));
    EXPECT_EQ(slot, place->slot);
    EXPECT_EQ(job.host_offset, 123u);
    EXPECT_EQ(job.length, 45u);
    EXPECT_EQ(job.seat, two.mine);
    EXPECT_TRUE(job.out);
    EXPECT_EQ(two.hall->look(*place, two.mine), State::Running);
    EXPECT_FALSE(two.hall->next(two.agent, slot, job)); /* it has it */
    two.hall->done(two.agent, slot, true);
    EXPECT_EQ(two.hall->look(*place, two.mine), State::Done);
    two.hall->give(*place, two.mine);
    EXPECT_TRUE(two.take());
}

TEST(RelayHall, JobsAreDoneInOrder)
{
    Two two;
    two.hall->offer(two.agent, offer_of(3));
    std::vector<RelayHall::Place> places;
    for (int i = 0; i < 3; ++i) {
        places.push_back(*two.take());
    }
    for (int i : {2, 0, 1}) {
        two.hall->post(places[static_cast<size_t>(i)], two.mine,
                       {0, static_cast<uint32_t>(i + 1), 0, false});
    }
    uint32_t       slot;
    RelayHall::Job job;
    for (uint32_t length : {3u, 1u, 2u}) {
        ASSERT_TRUE(two.hall->next(two.agent, slot, job));
        EXPECT_EQ(job.length, length);
        EXPECT_FALSE(job.out);
    }
}

TEST(RelayHall, AFailedJobIsSeen)
{
    Two two;
    two.hall->offer(two.agent, offer_of(1));
    auto place = two.take();
    two.hall->post(*place, two.mine, {});
    uint32_t       slot;
    RelayHall::Job job;
    ASSERT_TRUE(two.hall->next(two.agent, slot, job));
    two.hall->done(two.agent, slot, false);
    EXPECT_EQ(two.hall->look(*place, two.mine), State::Failed);
    two.hall->give(*place, two.mine);
    EXPECT_TRUE(two.take());
}

TEST(RelayHall, WhoseSeatIsAnothersHasFailed)
{
    Two two;
    two.hall->offer(two.agent, offer_of(1));
    auto place = two.take();
    two.hall->post(*place, two.mine, {});
    two.hall->stand_up(two.agent);
    EXPECT_EQ(two.hall->look(*place, two.mine), State::Failed);
    EXPECT_EQ(two.hall->sit(dead(), {}, kNow), two.agent);
    EXPECT_EQ(two.hall->look(*place, two.mine), State::Failed);
}

TEST(RelayHall, SlotsOfTheDeadAreSwept)
{
    auto     hall  = RelayHall::make_private();
    uint32_t agent = *hall->sit(ProcessId::self(), {}, kNow);
    uint32_t gone  = *hall->sit(dead(), {}, kNow);
    uint32_t mine  = *hall->sit(ProcessId::self(), {}, kNow);
    hall->offer(agent, offer_of(2));
    auto offer = *hall->offer_of(agent);
    ASSERT_TRUE(hall->take(agent, offer, gone));
    auto place = hall->take(agent, offer, mine);
    ASSERT_TRUE(place);
    EXPECT_FALSE(hall->take(agent, offer, mine));
    EXPECT_FALSE(hall->sweep(agent));
    EXPECT_EQ(hall->look(*place, mine), State::Taken);
    EXPECT_TRUE(hall->take(agent, offer, mine));
    EXPECT_FALSE(hall->take(agent, offer, mine));
}

TEST(RelayHall, AJobIsTakenBackUntilItIsBegun)
{
    Two two;
    two.hall->offer(two.agent, offer_of(1));
    auto           place = two.take();
    uint32_t       slot;
    RelayHall::Job job;
    two.hall->post(*place, two.mine, {1, 2, 0, true});
    EXPECT_TRUE(two.hall->revoke(*place, two.mine));
    EXPECT_FALSE(two.hall->next(two.agent, slot, job));
    two.hall->post(*place, two.mine, {3, 4, 0, true});
    ASSERT_TRUE(two.hall->next(two.agent, slot, job));
    EXPECT_EQ(job.length, 4u);
    EXPECT_FALSE(two.hall->revoke(*place, two.mine));
    two.hall->done(two.agent, slot, true);
    EXPECT_FALSE(two.hall->revoke(*place, two.mine));
    EXPECT_EQ(two.hall->look(*place, two.mine), State::Done);
}

/* Its memory is another's by now. */
TEST(RelayHall, SlotsOnWishAreWantedFirst)
{
    Two              two;
    RelayHall::Offer offer = offer_of(4);
    offer.on_wish = 1;
    two.hall->offer(two.agent, offer);
    ASSERT_TRUE(two.hall->offer_of(two.agent));
    EXPECT_EQ(two.hall->offer_of(two.agent)->on_wish, 1u);
    EXPECT_FALSE(two.take());
    EXPECT_EQ(two.hall->wanted(two.agent), Nanos());
    uint32_t heard = two.hall->wait(two.agent, 0, Nanos(1));
    two.hall->want(two.agent, Nanos(42));
    EXPECT_NE(two.hall->wait(two.agent, heard, Nanos(1)), heard);
    EXPECT_EQ(two.hall->wanted(two.agent), Nanos(42));
    two.hall->offer(two.agent, offer_of(4));
    EXPECT_TRUE(two.take());
    two.hall->stand_up(two.agent);
    ASSERT_EQ(two.hall->sit(ProcessId::self(), {3, 300}, kNow), two.agent);
    EXPECT_EQ(two.hall->wanted(two.agent), Nanos()); /* of whoever sat there */
}

TEST(RelayHall, AnOldOfferIsNotTaken)
{
    Two two;
    two.hall->offer(two.agent, offer_of(4));
    auto old = *two.hall->offer_of(two.agent);
    ASSERT_TRUE(two.hall->take(two.agent, old, two.mine));
    two.hall->withdraw(two.agent);
    EXPECT_FALSE(two.hall->take(two.agent, old, two.mine));
    two.hall->offer(two.agent, offer_of(4));
    EXPECT_FALSE(two.hall->take(two.agent, old, two.mine));
    EXPECT_TRUE(two.take());
    /* The same process, once more. */
    old = *two.hall->offer_of(two.agent);
    two.hall->stand_up(two.agent);
    ASSERT_EQ(two.hall->sit(ProcessId::self(), {1, 100}, kNow), two.agent);
    two.hall->offer(two.agent, offer_of(4));
    EXPECT_FALSE(two.hall->take(two.agent, old, two.mine));
    EXPECT_TRUE(two.take());
}

TEST(RelayHall, WhatWasBegunEndsAfterTheOffer)
{
    Two two;
    two.hall->offer(two.agent, offer_of(2));
    auto place = two.take();
    two.hall->withdraw(two.agent);
    EXPECT_FALSE(two.hall->sweep(two.agent));
    EXPECT_EQ(two.hall->look(*place, two.mine), State::Taken);
    two.hall->post(*place, two.mine, {});
    uint32_t       slot;
    RelayHall::Job job;
    ASSERT_TRUE(two.hall->next(two.agent, slot, job));
    EXPECT_FALSE(two.hall->sweep(two.agent));
    two.hall->done(two.agent, slot, true);
    EXPECT_EQ(two.hall->look(*place, two.mine), State::Done);
    two.hall->give(*place, two.mine);
    EXPECT_TRUE(two.hall->sweep(two.agent));
}

/* It is about memory of who sat there before, and not of who sits there now. */
TEST(RelayHall, JobsOfWhoSatThereBeforeAreNotDone)
{
    Two two;
    two.hall->offer(two.agent, offer_of(1));
    auto place = two.take();
    two.hall->post(*place, two.mine, {0, 100, 0, true});
    two.hall->stand_up(two.mine);
    FakeProcesses later(0x4711);
    ASSERT_EQ(two.hall->seen_by(later)->sit(later.self(), {3, 300}, kNow),
              two.mine);
    uint32_t       slot;
    RelayHall::Job job;
    EXPECT_FALSE(two.hall->next(two.agent, slot, job));
    EXPECT_TRUE(two.hall->sweep(two.agent));
}

TEST(RelayHall, SlotsOfThoseWhoHaveLeftAreSwept)
{
    Two two;
    two.hall->offer(two.agent, offer_of(1));
    ASSERT_TRUE(two.take());
    EXPECT_FALSE(two.hall->sweep(two.agent));
    two.hall->stand_up(two.mine);
    EXPECT_TRUE(two.hall->sweep(two.agent));
}

/* Two who ask, in threads of their own, and an agent that sleeps in between. */
TEST(RelayHall, WorksForTwo)
{
    auto     hall  = RelayHall::make_private();
    uint32_t agent = *hall->sit(ProcessId::self(), {}, kNow);
    hall->offer(agent, offer_of(3));
    auto offer = *hall->offer_of(agent);
    constexpr int kJobs = 2000;
    std::atomic<int> wrong{0};
    auto ask = [&](uint32_t id) {
        uint32_t mine = *hall->sit(ProcessId::self(), {}, kNow);
        for (int i = 0; i < kJobs;) {
            auto place = hall->take(agent, offer, mine);
            if (!place) {
                std::this_thread::yield();
                continue;
            }
            hall->post(*place, mine, {id, static_cast<uint32_t>(i), 0, true});
            while (hall->look(*place, mine) == State::Posted ||
                   hall->look(*place, mine) == State::Running) {
                std::this_thread::yield();
            }
            wrong += hall->look(*place, mine) != State::Done;
            hall->give(*place, mine);
            ++i;
        }
    };
    std::thread first(ask, 1), second(ask, 2);
    int      done = 0, next[3] = {};
    uint32_t heard = 0;
    while (done < 2 * kJobs) {
        uint32_t       slot;
        RelayHall::Job job;
        while (hall->next(agent, slot, job)) {
            ASSERT_TRUE(job.host_offset == 1 || job.host_offset == 2);
            wrong += job.length !=
                     static_cast<uint32_t>(next[job.host_offset]++);
            hall->done(agent, slot, true);
            ++done;
        }
        if (done < 2 * kJobs) {
            heard = hall->wait(agent, heard, Nanos::seconds(1));
        }
    }
    first.join();
    second.join();
    EXPECT_EQ(wrong.load(), 0);
}

} // namespace
