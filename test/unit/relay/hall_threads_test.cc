/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
/* The hall as several processes use it at once: real threads, which the thread
 * sanitizer watches in contrib/check's stage unit-tsan. */
#include "relay/hall.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <gtest/gtest.h>
#include <random>
#include <thread>
#include <vector>

namespace {
using fuselink::ProcessId;
using fuselink::RelayHall;
using State = RelayHall::State;

constexpr fuselink::sched::Nanos kNow{1'000'000'000};

/* All of it follows from `number`, so that a mixture of two shows. */
RelayHall::Offer offer_number(uint32_t number)
{
    RelayHall::Offer offer;
    offer.base          = uint64_t{number} << 20;
    offer.slot_size     = 4096;
    offer.slots         = number % 3 + 1;
    offer.key_length    = RelayHall::Offer::kMostKey;
    offer.device_length = RelayHall::Offer::kMostAddress;
    offer.iface_length  = RelayHall::Offer::kMostAddress;
    for (auto &byte : offer.key) {
        byte = static_cast<uint8_t>(number);
    }
    for (auto *bytes : {offer.device, offer.iface}) {
        std::fill_n(bytes, RelayHall::Offer::kMostAddress,
                    static_cast<uint8_t>(number));
    }
    return offer;
}

bool is_of_one_piece(const RelayHall::Offer &offer)
{
    const auto number = static_cast<uint32_t>(offer.base >> 20);
    const auto right  = offer_number(number);
    return offer.slots == right.slots &&
           std::equal(std::begin(offer.key), std::end(offer.key), right.key) &&
           std::equal(std::begin(offer.device), std::end(offer.device),
                      right.device) &&
           std::equal(std::begin(offer.iface), std::end(offer.iface),
                      right.iface);
}

TEST(RelayHallThreads, ASeatIsForOneAtATime)
{
    constexpr int kThreads = 4, kTurns = 2000, kMostAtOnce = 20;
    auto          hall = RelayHall::make_private();
    std::array<std::atomic<int>, RelayHall::kSeats> sitting{};
    std::atomic<int>                                wrong{0};
    std::vector<std::thread>                        threads;
    for (int i = 0; i < kThreads; ++i) {
        threads.emplace_back([&, i] {
            std::mt19937          random(static_cast<unsigned>(i));
            std::vector<uint32_t> mine;
            for (int turn = 0; turn < kTurns; ++turn) {
                if (mine.size() < kMostAtOnce && random() % 2 == 0) {
                    /* More than there are seats want one at times. */
                    auto seat = hall->sit(ProcessId::self(),
                                          {uint64_t(i) + 1, 1},
                                          kNow);
                    if (!seat) {
                        continue;
                    }
                    wrong += ++sitting[*seat] != 1;
                    wrong += hall->host_of(*seat).magic != uint64_t(i) + 1;
                    wrong += hall->at(*seat) != ProcessId::self();
                    mine.push_back(*seat);
                } else if (!mine.empty()) {
                    size_t which = random() % mine.size();
                    --sitting[mine[which]];
                    hall->stand_up(mine[which]);
                    mine.erase(mine.begin() + static_cast<long>(which));
                }
            }
            for (uint32_t seat : mine) {
                --sitting[seat];
                hall->stand_up(seat);
            }
        });
    }
    for (auto &thread : threads) {
        thread.join();
    }
    EXPECT_EQ(wrong.load(), 0);
    for (uint32_t seat = 0; seat < RelayHall::kSeats; ++seat) {
        EXPECT_FALSE(hall->at(seat));
    }
}

/* With no pause between one offer and the next. */
TEST(RelayHallThreads, AnOfferIsSeenWholeOrNotAtAll)
{
    constexpr uint32_t    kOffers = 50000;
    auto                  hall  = RelayHall::make_private();
    const uint32_t        agent = *hall->sit(ProcessId::self(), {1, 1}, kNow);
    std::atomic<bool>     ended{false};
    std::atomic<unsigned> wrong{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i) {
        threads.emplace_back([&] {
            uint32_t last = 0;
            while (!ended) {
                auto offer = hall->offer_of(agent);
                if (offer) {
                    wrong += !is_of_one_piece(*offer) || offer->number < last;
                    last = offer->number;
                }
            }
        });
    }
    for (uint32_t number = 1; number <= kOffers; ++number) {
        hall->offer(agent, offer_number(number));
    }
    ended = true;
    for (auto &thread : threads) {
        thread.join();
    }
    EXPECT_EQ(wrong.load(), 0u);
}

/* One who lends: offers, does jobs, takes the offer back and, when all slots are
 * free, "frees" the memory, again and again. Nobody may hold a slot then. */
class Agent {
public:
    explicit Agent(RelayHall &hall)
        : seat(*hall.sit(ProcessId::self(), {1, 1}, kNow)), hall_(hall)
    {
    }

    void work(uint32_t offers, uint32_t jobs_each)
    {
        for (uint32_t number = 1; number <= offers; ++number) {
            lent = true;
            hall_.offer(seat, offer_number(number));
            for (uint32_t before = jobs_; jobs_ - before < jobs_each;) {
                serve();
            }
            hall_.withdraw(seat);
            while (!hall_.sweep(seat)) {
                serve();
            }
            wrong += holders.load() != 0;
            lent = false;
        }
        ended = true;
    }

    const uint32_t        seat;
    std::atomic<bool>     lent{false}, ended{false};
    std::atomic<int>      holders{0}; /* who have taken a slot for certain */
    std::atomic<unsigned> wrong{0};

private:
    void serve()
    {
        uint32_t       slot;
        RelayHall::Job job;
        while (hall_.next(seat, slot, job)) {
            /* What it is told belongs together. */
            wrong += job.length != static_cast<uint32_t>(job.host_offset) + 1;
            wrong += job.out != (job.length % 2 != 0);
            ++jobs_;
            hall_.done(seat, slot, job.length % 5 != 0);
        }
        heard_ = hall_.wait(seat, heard_, fuselink::sched::Nanos(100'000));
    }

    RelayHall &hall_;
    uint32_t   heard_ = 0, jobs_ = 0;
};

/* One who borrows, from any of the agents, until all have ended. */
unsigned borrow(RelayHall &hall, std::array<Agent, 2> &agents, unsigned seed)
{
    const uint32_t mine = *hall.sit(ProcessId::self(), {seed + 2, 1}, kNow);
    std::mt19937   random(seed);
    unsigned       wrong = 0;
    auto all_ended = [&] {
        return std::all_of(agents.begin(), agents.end(),
                           [](const Agent &agent) { return agent.ended.load(); });
    };
    while (!all_ended()) {
        Agent &agent = agents[random() % agents.size()];
        auto   offer = hall.offer_of(agent.seat);
        if (!offer) {
            hall.want(agent.seat, kNow);
            std::this_thread::yield();
            continue;
        }
        wrong += !is_of_one_piece(*offer);
        auto place = hall.take(agent.seat, *offer, mine);
        if (!place) {
            std::this_thread::yield();
            continue;
        }
        ++agent.holders;
        wrong += !agent.lent;
        for (unsigned turn = 0; turn <= random() % 3; ++turn) {
            uint32_t offset = static_cast<uint32_t>(random() % 1000);
            hall.post(*place, mine,
                      {offset, offset + 1, 0, (offset + 1) % 2 != 0});
            if (random() % 4 == 0 && hall.revoke(*place, mine)) {
                wrong += hall.look(*place, mine) != State::Taken;
                continue;
            }
            State state;
            while ((state = hall.look(*place, mine)) == State::Posted ||
                   state == State::Running) {
                std::this_thread::yield();
            }
            wrong += state != ((offset + 1) % 5 != 0 ? State::Done :
                                                       State::Failed);
            break;
        }
        wrong += !agent.lent;
        --agent.holders;
        hall.give(*place, mine);
    }
    hall.stand_up(mine);
    return wrong;
}

TEST(RelayHallThreads, LentMemoryIsNotFreedBeforeItIsGivenBack)
{
    auto                     hall = RelayHall::make_private();
    std::array<Agent, 2>     agents{Agent(*hall), Agent(*hall)};
    std::atomic<unsigned>    wrong{0};
    std::vector<std::thread> threads;
    for (auto &agent : agents) {
        threads.emplace_back([&] { agent.work(2000, 2); });
    }
    for (unsigned i = 0; i < 3; ++i) {
        threads.emplace_back([&, i] { wrong += borrow(*hall, agents, i); });
    }
    for (auto &thread : threads) {
        thread.join();
    }
    EXPECT_EQ(wrong.load(), 0u);
    for (auto &agent : agents) {
        EXPECT_EQ(agent.wrong.load(), 0u);
        EXPECT_TRUE(hall->sweep(agent.seat));
    }
}

} // namespace
