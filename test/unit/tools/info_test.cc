/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "tools/info/dry_run.h"
#include "tools/info/show.h"

#include "json_check.h"

#include <gtest/gtest.h>
#include <numeric>

namespace fuselink::info {
namespace {

/* GPU 0 beside eth0, GPU 1 beside eth1. */
Facts::Gpus two_gpus()
{
    using topology::Connection;
    Facts::Gpus gpus;
    for (unsigned i = 0; i < 2; ++i) {
        topology::Gpu gpu;
        gpu.address = {0, i + 1, 0, 0};
        gpu.name    = "A \x1b\"GPU\"";
        gpu.pcie    = 5e8;
        gpu.cuda    = true;
        gpus.devices.add(gpu);
        topology::Nic nic;
        nic.names = {"eth" + std::to_string(i)};
        gpus.devices.add(nic);
        gpus.rail_nics.push_back(i);
    }
    gpus.devices.number();
    gpus.devices.set_nvlink(0, 1, {18, true, 4e8});
    gpus.devices.set_to_nic(0, 0, Connection::Pix);
    gpus.devices.set_to_nic(1, 0, Connection::Sys);
    gpus.devices.set_to_nic(0, 1, Connection::Sys);
    gpus.devices.set_to_nic(1, 1, Connection::Pxb);
    gpus.visible = topology::visible(gpus.devices, {"1"});
    return gpus;
}

Facts facts()
{
    Facts one;
    one.host   = "h\"1";
    one.cpus   = "0-3";
    one.policy = "finish";
    one.rails  = {{.port = "eth0", .transport = "tcp", .reported = 1e9,
                   .speed = 5e8, .numa_node = 0,
                   .place = Topology::Place::Near, .users = 1,
                   .owner = "app[7]"},
                  {.port = "eth1", .transport = "tcp", .reported = 1e9,
                   .speed = 1e9, .place = Topology::Place::Far,
                   .near = false}};
    one.left_out = {{"lo", "loopback"}};
    one.gpus     = two_gpus();
    one.examples = {{1000, {250, 750}}};
    one.settings = {{"UCX_FUSELINK_SCHED", "finish", true}};
    one.notes    = {"a\nb"};
    return one;
}

TEST(InfoText, SaysWhatAndWhy)
{
    std::string text = show_text(facts());
    for (const char *word : {"eth0 first, which is beside", "own NIC of app[7]",
                             "25 %", "75 %", "lo          loopback",
                             "0000:01:00.0", "NV18", "PXB", "2. by GPU1 400.0",
                             "1. direct 500.0",
                             "UCX_FUSELINK_SCHED  finish  (environment)"}) {
        EXPECT_NE(text.find(word), std::string::npos) << word << "\n" << text;
    }
}

/* What takes another way, as the NIC does not read that memory, is not said to be direct. */
TEST(InfoText, WaysAreThoseThatAreTaken)
{
    Facts one                 = facts();
    one.rails[0].no_gpu_direct = "the kernel";
    std::string text          = show_text(one);
    EXPECT_NE(text.find("1. host 500.0"), std::string::npos) << text;
    EXPECT_NE(text.find("2. by GPU1 400.0"), std::string::npos) << text;
    EXPECT_NE(text.find("for eth0: the kernel"), std::string::npos) << text;
    EXPECT_NE(show_json(one).find("\"way\": \"direct\", \"used\": \"host\""),
              std::string::npos);

    one.rails[1].far_gpus = true;
    text                  = show_text(one);
    EXPECT_EQ(text.find("by GPU1 "), std::string::npos) << text;
    EXPECT_NE(text.find("2. direct"), std::string::npos) << text;
}

TEST(InfoText, OfANodeWithoutRails)
{
    std::string text = show_text(Facts());
    EXPECT_NE(text.find("no rails"), std::string::npos);
    EXPECT_NE(text.find("GPUs: none seen"), std::string::npos);
}

/* A driver's word does not reach the terminal as it is. */
TEST(InfoText, NamesOfGpusArePrintable)
{
    EXPECT_EQ(show_text(facts()).find('\x1b'), std::string::npos);
}

TEST(InfoText, NoWaysToRailsThatNobodyHasSeen)
{
    Facts one          = facts();
    one.gpus.rail_nics = {std::nullopt, std::nullopt};
    std::string text   = show_text(one);
    EXPECT_EQ(text.find("Ways of GPU memory"), std::string::npos) << text;
}

TEST(InfoJson, HasTheMatrixAndThePaths)
{
    std::string text = show_json(facts());
    for (const char *word :
         {"\"distances\": {\"eth0\": \"PIX\", \"eth1\": \"SYS\"}",
          "\"cuda\": null", "\"cuda\": 0",
          "\"nvlinks\": 18, \"nvswitch\": true",
          "\"rail\": \"eth1\", \"way\": \"relay\", \"used\": \"relay\", \"connection\": \"SYS\"",
          "\"relays\": [{\"gpu\": 1, \"connection\": \"PXB\""}) {
        EXPECT_NE(text.find(word), std::string::npos) << word << "\n" << text;
    }
}

TEST(InfoJson, IsValid)
{
    EXPECT_TRUE(JsonCheck::valid(show_json(facts()))) << show_json(facts());
    EXPECT_TRUE(JsonCheck::valid(show_json(Facts())));
}

/* For every policy and many sizes and speeds, no byte is lost or invented. */
TEST(Rehearsal, MovesEveryByte)
{
    for (const auto &info : sched::policies()) {
        for (uint64_t size : {1ul, 16'385ul, 1'000'000ul, 64'000'000ul}) {
            for (size_t count : {1, 3, 32}) {
                std::vector<Stage> paths;
                for (size_t i = 0; i < count; ++i) {
                    paths.push_back({sched::Rate(1e6 * double(i * i + 1)),
                                     sched::Nanos(i % 2 == 0 ? 0 : 1000)});
                }
                auto moved = dry_run(*info.policy, {}, paths, size, false);
                EXPECT_EQ(std::accumulate(moved.begin(), moved.end(),
                                          uint64_t{0}), size)
                    << info.name << " " << size << " " << count;
            }
        }
    }
}

TEST(Rehearsal, FollowsTheSpeeds)
{
    std::vector<Stage> paths{{sched::Rate(1e9), {}}, {sched::Rate(3e9), {}}};
    const auto *finish = sched::find_policy("finish");
    auto moved = dry_run(*finish, {}, paths, 1'000'000'000, false);
    EXPECT_NEAR(double(moved[0]), 250e6, 10e6);
    const auto *single = sched::find_policy("single");
    moved = dry_run(*single, {}, paths, 1'000'000'000, false);
    EXPECT_EQ(moved[0], 1'000'000'000u);
}

TEST(Rehearsal, WithoutPaths)
{
    EXPECT_TRUE(dry_run(*sched::find_policy("finish"), {}, {}, 5, false)
                    .empty());
}

} // namespace
} // namespace fuselink::info
