/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "watch/exit_report.h"

#include "unit/tools/json_check.h"

#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <sys/wait.h>
#include <unistd.h>

namespace fuselink {
namespace {

std::string contents(const std::string &path)
{
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
}

Totals two_rails(uint64_t first, uint64_t second)
{
    Totals totals;
    totals.who.program = "a\"b";
    totals.lines = {{.name = "tcp/eth0", .speed = 100, .sent = {first, 3}},
                    {.name = "tcp/eth1", .speed = 300, .sent = {second, 4}},
                    {.name = "cma", .peers = Totals::Peers::Node,
                     .sent = {1'000'000'000, 1}}};
    return totals;
}

TEST(Totals, UnevennessIsOneWhenAllFinishTogether)
{
    EXPECT_DOUBLE_EQ(two_rails(1000, 3000).unevenness(&Totals::Line::sent), 1);
    /* All on a quarter of the capacity takes four times as long. */
    EXPECT_DOUBLE_EQ(two_rails(1000, 0).unevenness(&Totals::Line::sent), 4);
    EXPECT_DOUBLE_EQ(two_rails(0, 0).unevenness(&Totals::Line::sent), 0);
    EXPECT_DOUBLE_EQ(two_rails(1, 1).unevenness(&Totals::Line::received), 0);
    /* What was measured counts more than what was promised. */
    Totals measured = two_rails(1000, 1000);
    measured.lines[0].measured = measured.lines[1].measured = 50;
    EXPECT_DOUBLE_EQ(measured.unevenness(&Totals::Line::sent), 1);
}

TEST(Totals, ShowsSharesOfOtherNodesOnly)
{
    std::string text = two_rails(1'000'000, 3'000'000).text();
    EXPECT_NE(text.find("25.0 %"), std::string::npos) << text;
    EXPECT_NE(text.find("75.0 %"), std::string::npos) << text;
    EXPECT_NE(text.find("1.00 sent\n"), std::string::npos) << text;
    EXPECT_TRUE(JsonCheck::valid(two_rails(1, 2).json()));
    EXPECT_TRUE(JsonCheck::valid(Totals().json()));
}

TEST(Totals, ShowsLinksOfGpusApart)
{
    constexpr auto kGpu = Totals::Peers::Gpu;
    Totals totals = two_rails(1'000'000, 3'000'000);
    EXPECT_EQ(totals.text().find("LINK"), std::string::npos);
    totals.lines.push_back({.name = "own link", .peers = kGpu});
    EXPECT_EQ(totals.text().find("LINK"), std::string::npos);
    totals.lines.push_back({.name = "lent", .peers = kGpu,
                            .sent = {7'000'000, 70},
                            .received = {9'000'000, 90}});
    std::string text = totals.text(), json = totals.json();
    EXPECT_NE(text.find("lent              7.0      70    9.0      90"),
              std::string::npos) << text;
    EXPECT_NE(text.find("25.0 %"), std::string::npos) << text;
    EXPECT_TRUE(JsonCheck::valid(json));
    EXPECT_NE(json.find("\"gpu_links\""), std::string::npos);
    EXPECT_NE(json.find("\"lent\""), std::string::npos);
    EXPECT_DOUBLE_EQ(totals.unevenness(&Totals::Line::sent), 1);
}

TEST(ExitReport, AddsUpWhatIsOpenAndWhatIsClosed)
{
    ExitReport report("stderr");
    Traffic    first, second, node;
    report.add({.name = "tcp/eth0", .speed = 5, .traffic = &first});
    report.add({.name = "cma", .peers = Totals::Peers::Node,
                .traffic = &node});
    report.add({.name = "tcp/eth0", .speed = 5, .traffic = &second});
    first.sent.add(100);
    second.sent.add(10);
    second.received.add(7);
    report.remove(&first, 42);
    first.sent.add(1000); /* of no interest any more */
    report.remove(&first);
    auto lines = report.totals().lines;
    ASSERT_EQ(lines.size(), 2u);
    EXPECT_EQ(lines[0].sent.bytes, 110u);
    EXPECT_EQ(lines[0].sent.chunks, 2u);
    EXPECT_EQ(lines[0].received.bytes, 7u);
    EXPECT_EQ(lines[0].measured, 42);
    EXPECT_EQ(lines[1].sent.bytes, 0u);
    report.remove(&second);
    EXPECT_EQ(report.totals().lines[0].sent.bytes, 110u);
}

/* Of several workers: what each has met, and the longest wait of all. */
TEST(ExitReport, AddsUpWhatHasFailed)
{
    ExitReport report("stderr");
    Traffic    first, second;
    Outages    one, two;
    report.add({.name = "tcp/eth0", .traffic = &first, .outages = &one});
    report.add({.name = "tcp/eth0", .traffic = &second, .outages = &two});
    EXPECT_EQ(report.totals().text().find("FAILED"), std::string::npos);
    one.breaks.add(2);
    one.chunks_resent.add(1'000'000);
    one.out.add(2'000'000'000);
    one.longest.set(50'000'000);
    two.moves.add(1);
    two.messages_resent.add(500'000);
    two.longest.set(20'000'000);
    report.remove(&first);
    const Totals    totals   = report.totals();
    const auto     &failures = totals.lines[0].failures;
    EXPECT_EQ(failures.breaks, 2u);
    EXPECT_EQ(failures.moves, 1u);
    EXPECT_EQ(failures.resent, 1'500'000u);
    EXPECT_DOUBLE_EQ(failures.out, 2);
    EXPECT_DOUBLE_EQ(failures.longest_wait, 0.05);
    const std::string text = totals.text(), json = totals.json();
    EXPECT_NE(text.find("tcp/eth0          2               1            1.5  "
                        "2.000           0.050"), std::string::npos) << text;
    EXPECT_TRUE(JsonCheck::valid(json)) << json;
    EXPECT_NE(json.find("\"failures\": {\"path_breaks\": 2, \"message_moves\": "
                        "1, \"resent_bytes\": 1500000, \"out_seconds\": 2"),
              std::string::npos) << json;
}

/* What is out now counts as well. */
TEST(Outages, GoOn)
{
    Outages outages;
    outages.out.set(100);
    EXPECT_EQ(outages.out_until(1000), 100u);
    outages.since.set(900);
    EXPECT_EQ(outages.out_until(1000), 200u);
    EXPECT_EQ(outages.out_until(800), 100u); /* of another clock */
}

TEST(ExitReport, CountsWhatTheNicMovedMeanwhile)
{
    ExitReport report("stderr");
    Traffic    traffic;
    report.add({.name = "tcp/lo", .port = "lo", .traffic = &traffic});
    auto lines = report.totals().lines;
    ASSERT_TRUE(lines[0].nic.has_value());
    EXPECT_LT(lines[0].nic->sent, uint64_t{1} << 40); /* not since the boot */
}

TEST(ExitReport, AppendsToAFile)
{
    char path[] = "/tmp/fuselink-test-XXXXXX";
    close(mkstemp(path));
    std::string json = std::string(path) + ".json", error;
    for (int i = 0; i < 2; ++i) {
        ASSERT_TRUE(ExitReport(path).write(error)) << error;
        ASSERT_TRUE(ExitReport(json).write(error)) << error;
    }
    std::string text = contents(path);
    EXPECT_NE(text.find("fuselink: bulk data of"),
              text.rfind("fuselink: bulk data of"));
    std::istringstream lines(contents(json));
    int count = 0;
    for (std::string line; std::getline(lines, line); ++count) {
        EXPECT_TRUE(JsonCheck::valid(line)) << line;
    }
    EXPECT_EQ(count, 2);
    unlink(path);
    unlink(json.c_str());
    EXPECT_FALSE(ExitReport("/nowhere/file").write(error));
    EXPECT_NE(error.find("/nowhere/file"), std::string::npos);
    EXPECT_EQ(ExitReport::start("/nowhere/file", error), nullptr);
}

/* By a process of its own: once, at exit(), and not by its child. */
TEST(ExitReport, IsWrittenOnceAtExit)
{
    char path[] = "/tmp/fuselink-test-XXXXXX";
    close(mkstemp(path));
    pid_t pid = fork();
    if (pid == 0) {
        std::string error;
        auto *report = ExitReport::start(path, error);
        static Traffic traffic;
        report->add({.name = "tcp/x", .traffic = &traffic});
        traffic.sent.add(5'000'000);
        EXPECT_EQ(ExitReport::start("elsewhere", error), report);
        pid_t child = fork();
        if (child == 0) {
            exit(0);
        }
        waitpid(child, nullptr, 0);
        exit(0);
    }
    waitpid(pid, nullptr, 0);
    std::string text = contents(path);
    EXPECT_NE(text.find("tcp/x"), std::string::npos) << text;
    EXPECT_NE(text.find("5.0"), std::string::npos) << text;
    EXPECT_EQ(text.find("bulk data"), text.rfind("bulk data")) << text;
    unlink(path);
}

} // namespace
} // namespace fuselink
