/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "watch/trace_file.h"

#include "unit/tools/json_check.h"

#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <random>
#include <regex>
#include <unistd.h>

namespace fuselink {
namespace {

Trace::Event event(int64_t start, uint64_t length = 1000, uint8_t rail = 0)
{
    Trace::Event one;
    one.start  = start;
    one.length = length;
    one.rail   = rail;
    return one;
}

TEST(Trace, ForgetsTheOldest)
{
    Trace trace(3 * sizeof(Trace::Event) + 5);
    ASSERT_EQ(trace.capacity(), 3u);
    for (uint64_t i = 1; i <= 5; ++i) {
        EXPECT_EQ(trace.begin(event(static_cast<int64_t>(i))), i);
    }
    EXPECT_EQ(trace.dropped(), 2u);
    ASSERT_EQ(trace.size(), 3u);
    EXPECT_EQ(trace.at(0).start, 3);
    EXPECT_EQ(trace.at(2).start, 5);
    trace.end(2, 100, true); /* forgotten: must not end another */
    for (size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(trace.at(i).end, 0);
    }
    trace.end(3, 100, true);
    trace.end(5, 200, false);
    EXPECT_EQ(trace.at(0).end, 100);
    EXPECT_FALSE(trace.at(0).failed);
    EXPECT_EQ(trace.at(2).end, 200);
    EXPECT_TRUE(trace.at(2).failed);
}

TEST(Trace, HasRoomForOneAtLeast)
{
    Trace trace(0);
    trace.begin(event(1));
    trace.begin(event(2));
    EXPECT_EQ(trace.size(), 1u);
    EXPECT_EQ(trace.at(0).start, 2);
}

class TraceFiles : public testing::Test {
protected:
    void SetUp() override
    {
        char name[] = "/tmp/fuselink-test-XXXXXX";
        close(mkstemp(name));
        path_ = name;
    }
    void TearDown() override { unlink(path_.c_str()); }
    std::string contents() const
    {
        std::ifstream in(path_);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    size_t count(const std::string &what) const
    {
        std::string text = contents();
        size_t found = 0;
        for (size_t at = text.find(what); at != std::string::npos;
             at = text.find(what, at + 1)) {
            ++found;
        }
        return found;
    }

    std::string path_;
    std::string error_;
};

TEST_F(TraceFiles, AreValidFromTheStartAndAfterEachEngine)
{
    TraceFile *file = TraceFile::open(path_, error_);
    ASSERT_NE(file, nullptr) << error_;
    EXPECT_TRUE(JsonCheck::valid(contents())) << contents();
    EXPECT_EQ(TraceFile::open(path_, error_), file);
    for (size_t engine = 1; engine <= 3; ++engine) {
        Trace trace(10 * sizeof(Trace::Event));
        for (int i = 0; i < 20; ++i) {
            trace.begin(event(1000 * i));
        }
        ASSERT_TRUE(file->add(trace, {.rails = {"tcp/\"eth0"},
                                      .policy = "finish"}, 100'000, error_));
        EXPECT_TRUE(JsonCheck::valid(contents())) << contents();
        EXPECT_EQ(count("\"ph\": \"X\""), 10 * engine);
        EXPECT_EQ(count("\"dropped\": 10"), engine);
    }
    EXPECT_EQ(TraceFile::open("/nowhere/trace", error_), nullptr);
    EXPECT_NE(error_.find("/nowhere/trace"), std::string::npos);
}

TEST_F(TraceFiles, SayWhatAndWhy)
{
    Trace trace(100 * sizeof(Trace::Event));
    Trace::Event one = event(1'234'567, 512'000, 1);
    one.in_flight    = 64'000;
    one.ahead        = 2'000'000;
    one.rate         = 25e6;
    one.kind         = Trace::Kind::Serve;
    one.from         = Trace::kGpu + 5;
    one.to           = Trace::kGpu + 5; /* of the peer's node: another */
    trace.end(trace.begin(one), 2'234'567, true);
    trace.begin(event(3'000'000));
    Trace::Event staged = event(3'100'000);
    staged.from         = Trace::kHost;
    staged.to           = Trace::kMessages;
    trace.begin(staged);
    one.kind = Trace::Kind::Landed;
    one.end  = one.start;
    trace.begin(one);
    one.rail = 7; /* no such rail: left out */
    trace.begin(one);
    TraceFile *file = TraceFile::open(path_, error_);
    ASSERT_TRUE(file->add(trace, {.rails = {"tcp/a", "tcp/b"},
                                  .policy = "finish",
                                  .relays = {{5, "process 7"}}}, 5'000'000, error_));
    std::string text = contents();
    EXPECT_TRUE(JsonCheck::valid(text)) << text;
    for (const char *words :
         {"\"from\": \"a slot of the GPU of process 7\"",
          "\"to\": \"a slot of another GPU (relay 5)\"",
          "\"from\": \"a slot of the host's memory\"", "\"to\": \"messages\"",
          "\"ts\": 1234.567, \"dur\": 1000.000", "serve 512.0 kB",
          "finish: 64.0 kB on the path, 2.0 MB of others ahead, at 25.0 MB/s",
          "\"state\": \"not over\"", "\"dur\": 2000.000", "\"tcp/b in\"",
          "\"ph\": \"i\"", "\"process_name\""}) {
        EXPECT_NE(text.find(words), std::string::npos) << words << text;
    }
    EXPECT_EQ(count("landed 512.0 kB"), 1u);
    EXPECT_EQ(count("\"from\""), 2u); /* not of what goes as it is */
}

TEST_F(TraceFiles, SayWhatFails)
{
    using Kind = Trace::Kind;
    Trace trace(100 * sizeof(Trace::Event));
    for (Kind kind : {Kind::PathBroke, Kind::PathDrained, Kind::PathWorks,
                      Kind::MessagesMoved, Kind::CarrierLost,
                      Kind::CarrierBack}) {
        Trace::Event one = event(1'000'000, 2'500'000, 1);
        one.kind   = kind;
        one.peer   = 0xabc;
        one.remote = 0;
        one.state  = NicState::Silent;
        trace.begin(one);
    }
    TraceFile *file = TraceFile::open(path_, error_);
    ASSERT_TRUE(file->add(trace, {.rails = {"tcp/a", "tcp/b"}}, 5'000'000,
                          error_));
    std::string text = contents();
    EXPECT_TRUE(JsonCheck::valid(text)) << text;
    for (const char *words :
         {"path broke", "path drained", "path works again", "messages moved",
          "carrier lost", "carrier back"}) {
        EXPECT_EQ(count("\"name\": \"" + std::string(words) + "\""), 1u)
            << words << text;
    }
    EXPECT_EQ(count("\"cat\": \"failure\""), 6u);
    EXPECT_EQ(count("\"cat\": \"chunk\""), 0u);
    EXPECT_EQ(count("\"tcp/b failures\""), 1u);
    EXPECT_EQ(count("\"why\": \"silent\""), 4u);
    EXPECT_EQ(count("\"waited_ms\": 2.5"), 2u);
    EXPECT_EQ(count("\"to\": \"tcp/a\""), 1u);
}

/* Viewers show slices of one thread that overlap as if one had called the
 * other. */
TEST_F(TraceFiles, NoTwoSlicesOfAThreadOverlap)
{
    std::mt19937 random(3);
    Trace trace(2000 * sizeof(Trace::Event));
    for (int i = 0; i < 1000; ++i) {
        auto start = static_cast<int64_t>(random() % 1'000'000'000);
        auto length = static_cast<int64_t>(random() % 5'000'000);
        trace.end(trace.begin(event(start, 1, random() % 2)), start + length,
                  true);
    }
    TraceFile *file = TraceFile::open(path_, error_);
    ASSERT_TRUE(file->add(trace, {.rails = {"a", "b"}, .policy = "p"},
                          2'000'000'000, error_));
    std::regex pattern("\"tid\": (\\d+), \"cat\": \"chunk\", \"ts\": "
                       "([\\d.]+), \"dur\": ([\\d.]+)");
    std::map<int, double> busy_until;
    std::istringstream    lines(contents());
    int slices = 0;
    for (std::string line; std::getline(lines, line);) {
        std::smatch match;
        if (!std::regex_search(line, match, pattern)) {
            continue;
        }
        ++slices;
        double  start = std::stod(match[2]);
        double &until = busy_until[std::stoi(match[1])];
        EXPECT_GE(start, until - 1e-6);
        until = start + std::stod(match[3]);
    }
    EXPECT_EQ(slices, 1000);
    EXPECT_LT(busy_until.size(), 40u); /* about 2.5 at a time on each rail */
}

} // namespace
} // namespace fuselink
