/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "tools/top/show.h"

#include "json_check.h"

#include <gtest/gtest.h>
#include <random>

namespace fuselink::top {
namespace {

constexpr int64_t kNow = 10'000'000'000;

/* An agent and one who uses it. */
struct Node {
    Node()
    {
        agent = *registry->join(ProcessId::self(), {1, 100}, sched::Nanos(kNow));
        mine  = *registry->join(ProcessId::self(), {2, 200}, sched::Nanos(kNow));
        RelayRegistry::Offer offer;
        offer.base      = 0x10000;
        offer.slot_size = 65536;
        offer.slots     = 4;
        for (size_t i = 0; i < sizeof(offer.gpu); ++i) {
            offer.gpu[i] = static_cast<uint8_t>(0x10 + i);
        }
        registry->offer(agent, offer);
    }
    std::optional<RelayRegistry::SlotHandle> take()
    {
        return registry->take(agent, *registry->offer_of(agent), mine);
    }
    Reading read(int64_t at = kNow)
    {
        Reading reading;
        reading.at     = at;
        reading.boards = 1;
        add_gpu_links({registry}, reading);
        return reading;
    }

    std::shared_ptr<RelayRegistry> registry = RelayRegistry::make_private();
    uint32_t                       agent = 0, mine = 0; /* entries */
};

std::string self()
{
    return "unit_tests[" + std::to_string(getpid()) + "]";
}

TEST(TopGpus, WhoseDataWaitsForWhat)
{
    Node node;
    (void)node.take(); /* is being filled */
    for (int i = 0; i < 2; ++i) {
        node.registry->post(*node.take(), node.mine, {0, 10, 0, true, {}});
    }
    uint32_t           slot;
    RelayRegistry::Job job;
    ASSERT_TRUE(node.registry->next(node.agent, slot, job));

    const Reading reading = node.read();
    ASSERT_EQ(reading.gpu_links.size(), 1u);
    const auto &link = reading.gpu_links[0];
    EXPECT_EQ(link.pid, getpid());
    EXPECT_EQ(link.gpu, "GPU-10111213-1415-1617-1819-1a1b1c1d1e1f");
    EXPECT_EQ(link.slots, 4u);
    EXPECT_FALSE(link.needed);
    ASSERT_EQ(link.users.size(), 1u);
    EXPECT_EQ(link.users[0].who, self());
    EXPECT_EQ(link.users[0].hopping, 1u);
    EXPECT_EQ(link.users[0].waiting, 1u);
    EXPECT_EQ(link.users[0].copied, 1u);
}

TEST(TopGpus, WhatMovedBetweenTwoReadings)
{
    Node node;
    node.registry->count(node.agent, true, 1'000'000);
    const Reading before = node.read();
    node.registry->count(node.agent, true, 30'000'000);
    node.registry->count(node.agent, false, 8'000'000);
    node.registry->count_by_nics(node.agent, true, 50'000'000);
    node.registry->count_by_nics(node.agent, false, 2'000'000);
    node.registry->need(node.agent, sched::Nanos(4 * kNow));
    const Reading after   = node.read(kNow + 2'000'000'000);
    const Traffic traffic = compare(before, after);
    ASSERT_EQ(traffic.gpu_links.size(), 1u);
    EXPECT_DOUBLE_EQ(traffic.gpu_links[0].out, 15e6);
    EXPECT_DOUBLE_EQ(traffic.gpu_links[0].in, 4e6);
    EXPECT_DOUBLE_EQ(traffic.gpu_links[0].nics_out, 25e6);
    EXPECT_DOUBLE_EQ(traffic.gpu_links[0].nics_in, 1e6);

    const std::string text = show_text(after, traffic);
    EXPECT_NE(text.find("GPU-10111213  " + self()), std::string::npos) << text;
    EXPECT_NE(text.find("15.0"), std::string::npos) << text;
    EXPECT_NE(text.find("25.0"), std::string::npos) << text;
    EXPECT_NE(text.find("(needed by its owner)"), std::string::npos) << text;
    const std::string json = show_json(after, traffic);
    EXPECT_TRUE(JsonCheck::valid(json));
    EXPECT_NE(json.find("\"out_bytes\": 31000000"), std::string::npos) << json;
    EXPECT_NE(json.find("\"nics_in_bytes\": 2000000"), std::string::npos) << json;
    EXPECT_NE(show_prometheus(after).find(
                  "fuselink_gpu_lent_bytes_total{gpu=\"GPU-10111213-1415-1617-1819-"
                  "1a1b1c1d1e1f\",direction=\"in\""),
              std::string::npos);
}

/* Another process at the same entry counts from its beginning. */
TEST(TopGpus, AnotherLender)
{
    Node node;
    node.registry->count(node.agent, true, 5'000'000);
    Reading before = node.read(), after = node.read(kNow + 1'000'000'000);
    before.gpu_links[0].id += 1;
    before.gpu_links[0].out = 90'000'000;
    EXPECT_DOUBLE_EQ(compare(before, after).gpu_links[0].out, 5e6);
}

TEST(TopGpus, NothingIsLent)
{
    Node node;
    node.registry->withdraw(node.agent);
    const Reading reading = node.read();
    EXPECT_TRUE(reading.gpu_links.empty());
    EXPECT_EQ(show_text(reading, compare(reading, reading)).find("GPU LENT"),
              std::string::npos);
    RelayRegistry::Offer offer = *Node().registry->offer_of(0);
    offer.on_demand = 1;
    node.registry->offer(node.agent, offer);
    const Reading asked = node.read();
    EXPECT_NE(show_text(asked, compare(asked, asked)).find("if asked"), std::string::npos);
}

/* A registry full of nonsense in, well-formed text out. */
TEST(TopGpus, NonsenseIsShownSafely)
{
    std::mt19937_64 random(9);
    for (int round = 0; round < 200; ++round) {
        Node node;
        for (int i = 0; i < 3; ++i) {
            (void)node.take();
        }
        for (int i = 0; i < 400; ++i) {
            const uint64_t word = round % 2 == 0 ? random() : random() % 3;
            node.registry->overwrite(random() % 2000 * sizeof(word), &word, sizeof(word));
        }
        const Reading reading = node.read();
        const Traffic traffic = compare(reading, reading);
        EXPECT_LE(reading.gpu_links.size(), RelayRegistry::kEntries);
        EXPECT_TRUE(JsonCheck::valid(show_json(reading, traffic)));
        for (unsigned char c : show_text(reading, traffic) + show_prometheus(reading)) {
            ASSERT_TRUE(c == '\n' || (c >= 0x20 && c < 0x7f)) << int(c);
        }
    }
}

} // namespace
} // namespace fuselink::top
