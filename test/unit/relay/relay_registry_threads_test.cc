/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
/* The registry as several processes use it at once: real threads, which the thread
 * sanitizer watches in contrib/check's stage unit-tsan. */
#include "registry/relay_registry.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <gtest/gtest.h>
#include <random>
#include <thread>
#include <vector>

namespace {
using fuselink::ProcessId;
using fuselink::RelayRegistry;
using State = RelayRegistry::State;

constexpr fuselink::sched::Nanos kNow{1'000'000'000};

/* All of it follows from `number`, so that a mixture of two shows. */
RelayRegistry::Offer offer_number(uint32_t number)
{
    RelayRegistry::Offer offer;
    offer.base          = uint64_t{number} << 20;
    offer.slot_size     = 4096;
    offer.slots         = number % 3 + 1;
    offer.key_length    = RelayRegistry::Offer::kMostKey;
    offer.device_length = RelayRegistry::Offer::kMostAddress;
    offer.iface_length  = RelayRegistry::Offer::kMostAddress;
    for (auto &byte : offer.key) {
        byte = static_cast<uint8_t>(number);
    }
    for (auto *bytes : {offer.device, offer.iface}) {
        std::fill_n(bytes, RelayRegistry::Offer::kMostAddress,
                    static_cast<uint8_t>(number));
    }
    return offer;
}

bool is_of_one_piece(const RelayRegistry::Offer &offer)
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

TEST(RelayRegistryThreads, ASeatIsForOneAtATime)
{
    constexpr int kThreads = 4, kTurns = 2000, kMostAtOnce = 20;
    auto          registry = RelayRegistry::make_private();
    std::array<std::atomic<int>, RelayRegistry::kEntries> joined{};
    std::atomic<int>                                wrong{0};
    std::vector<std::thread>                        threads;
    for (int i = 0; i < kThreads; ++i) {
        threads.emplace_back([&, i] {
            std::mt19937          random(static_cast<unsigned>(i));
            std::vector<uint32_t> mine;
            for (int turn = 0; turn < kTurns; ++turn) {
                if (mine.size() < kMostAtOnce && random() % 2 == 0) {
                    /* More than there are entries want one at times. */
                    auto entry = registry->join(ProcessId::self(),
                                          {uint64_t(i) + 1, 1},
                                          kNow);
                    if (!entry) {
                        continue;
                    }
                    wrong += ++joined[*entry] != 1;
                    wrong += registry->host_of(*entry).magic != uint64_t(i) + 1;
                    wrong += registry->at(*entry) != ProcessId::self();
                    mine.push_back(*entry);
                } else if (!mine.empty()) {
                    size_t which = random() % mine.size();
                    --joined[mine[which]];
                    registry->leave(mine[which]);
                    mine.erase(mine.begin() + static_cast<long>(which));
                }
            }
            for (uint32_t entry : mine) {
                --joined[entry];
                registry->leave(entry);
            }
        });
    }
    for (auto &thread : threads) {
        thread.join();
    }
    EXPECT_EQ(wrong.load(), 0);
    for (uint32_t entry = 0; entry < RelayRegistry::kEntries; ++entry) {
        EXPECT_FALSE(registry->at(entry));
    }
}

/* With no pause between one offer and the next. */
TEST(RelayRegistryThreads, AnOfferIsSeenWholeOrNotAtAll)
{
    constexpr uint32_t    kOffers = 50000;
    auto                  registry  = RelayRegistry::make_private();
    const uint32_t        agent = *registry->join(ProcessId::self(), {1, 1}, kNow);
    std::atomic<bool>     ended{false};
    std::atomic<unsigned> wrong{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i) {
        threads.emplace_back([&] {
            uint32_t last = 0;
            while (!ended) {
                auto offer = registry->offer_of(agent);
                if (offer) {
                    wrong += !is_of_one_piece(*offer) || offer->number < last;
                    last = offer->number;
                }
            }
        });
    }
    for (uint32_t number = 1; number <= kOffers; ++number) {
        registry->offer(agent, offer_number(number));
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
    explicit Agent(RelayRegistry &registry)
        : entry(*registry.join(ProcessId::self(), {1, 1}, kNow)), registry_(registry)
    {
    }

    void work(uint32_t offers, uint32_t jobs_each)
    {
        for (uint32_t number = 1; number <= offers; ++number) {
            lent = true;
            registry_.offer(entry, offer_number(number));
            for (uint32_t before = jobs_; jobs_ - before < jobs_each;) {
                serve();
            }
            registry_.withdraw(entry);
            while (!registry_.sweep(entry)) {
                serve();
            }
            wrong += holders.load() != 0;
            lent = false;
        }
        ended = true;
    }

    const uint32_t        entry;
    std::atomic<bool>     lent{false}, ended{false};
    std::atomic<int>      holders{0}; /* who have taken a slot for certain */
    std::atomic<unsigned> wrong{0};

private:
    void serve()
    {
        uint32_t       slot;
        RelayRegistry::Job job;
        while (registry_.next(entry, slot, job)) {
            /* What it is told belongs together. */
            wrong += job.length != static_cast<uint32_t>(job.host_offset) + 1;
            wrong += job.out != (job.length % 2 != 0);
            ++jobs_;
            registry_.done(entry, slot, job.length % 5 != 0);
        }
        heard_ = registry_.wait(entry, heard_, fuselink::sched::Nanos(100'000));
    }

    RelayRegistry &registry_;
    uint32_t   heard_ = 0, jobs_ = 0;
};

/* One who borrows, from any of the agents, until all have ended. */
unsigned borrow(RelayRegistry &registry, std::array<Agent, 2> &agents, unsigned seed)
{
    const uint32_t mine = *registry.join(ProcessId::self(), {seed + 2, 1}, kNow);
    std::mt19937   random(seed);
    unsigned       wrong = 0;
    auto all_ended = [&] {
        return std::all_of(agents.begin(), agents.end(),
                           [](const Agent &agent) { return agent.ended.load(); });
    };
    while (!all_ended()) {
        Agent &agent = agents[random() % agents.size()];
        auto   offer = registry.offer_of(agent.entry);
        if (!offer) {
            registry.demand(agent.entry, kNow);
            std::this_thread::yield();
            continue;
        }
        wrong += !is_of_one_piece(*offer);
        auto place = registry.take(agent.entry, *offer, mine);
        if (!place) {
            std::this_thread::yield();
            continue;
        }
        ++agent.holders;
        wrong += !agent.lent;
        for (unsigned turn = 0; turn <= random() % 3; ++turn) {
            uint32_t offset = static_cast<uint32_t>(random() % 1000);
            registry.post(*place, mine,
                      {offset, offset + 1, 0, (offset + 1) % 2 != 0});
            if (random() % 4 == 0 && registry.revoke(*place, mine)) {
                wrong += registry.look(*place, mine) != State::Taken;
                continue;
            }
            State state;
            while ((state = registry.look(*place, mine)) == State::Posted ||
                   state == State::Running) {
                std::this_thread::yield();
            }
            wrong += state != ((offset + 1) % 5 != 0 ? State::Done :
                                                       State::Failed);
            break;
        }
        wrong += !agent.lent;
        --agent.holders;
        registry.give(*place, mine);
    }
    registry.leave(mine);
    return wrong;
}

TEST(RelayRegistryThreads, LentMemoryIsNotFreedBeforeItIsGivenBack)
{
    auto                     registry = RelayRegistry::make_private();
    std::array<Agent, 2>     agents{Agent(*registry), Agent(*registry)};
    std::atomic<unsigned>    wrong{0};
    std::vector<std::thread> threads;
    for (auto &agent : agents) {
        threads.emplace_back([&] { agent.work(2000, 2); });
    }
    for (unsigned i = 0; i < 3; ++i) {
        threads.emplace_back([&, i] { wrong += borrow(*registry, agents, i); });
    }
    for (auto &thread : threads) {
        thread.join();
    }
    EXPECT_EQ(wrong.load(), 0u);
    for (auto &agent : agents) {
        EXPECT_EQ(agent.wrong.load(), 0u);
        EXPECT_TRUE(registry->sweep(agent.entry));
    }
}

} // namespace
