/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "tools/top/show.h"
#include "ucs_ext/board_layout.h"
#include "ucs_ext/board_seat.h"

#include "json_check.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>
#include <sstream>

namespace fuselink::top {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

Reading::Process process(uint64_t id, const std::string &rank = "0")
{
    Reading::Process one;
    one.id      = id;
    one.pid     = static_cast<int32_t>(id);
    one.user    = "me";
    one.program = "app";
    one.job     = "job";
    one.rank    = rank;
    return one;
}

Reading reading(int64_t at, std::vector<Reading::Process> processes,
                std::vector<Reading::Flow> flows)
{
    Reading result;
    result.at        = at;
    result.boards    = 1;
    result.nics      = {{"eth0", 100'000'000, NicCounters{0, 0}},
                        {"eth1", 0, {}}};
    result.processes = std::move(processes);
    result.flows     = std::move(flows);
    return result;
}

TEST(Traffic, IsWhatWasCompletedBetweenTwoReadings)
{
    auto before = reading(kSecond, {process(1)},
                          {{.process = 0, .nic = 0, .completed = 1000}});
    auto after  = reading(3 * kSecond, {process(1), process(2)},
                          {{.process = 0, .nic = 0, .in_flight = 7,
                            .completed = 50'001'000},
                           {.process = 1, .nic = 0, .in_flight = 3,
                            .completed = 100'000'000}});
    after.nics[0].counters = NicCounters{200'000'000, 0};
    Traffic traffic = compare(before, after);
    ASSERT_EQ(traffic.lines.size(), 4u);
    const auto &out = traffic.lines[0];
    EXPECT_EQ(out.direction, Direction::Out);
    EXPECT_DOUBLE_EQ(out.rate, 75e6); /* the second is new: all of it counts */
    EXPECT_DOUBLE_EQ(out.of_speed, 0.75);
    EXPECT_DOUBLE_EQ(out.nic_rate, 100e6);
    EXPECT_EQ(out.in_flight, 10u);
    ASSERT_EQ(out.parts.size(), 2u);
    EXPECT_EQ(out.parts[0].process->id, 2u); /* the faster one first */
    EXPECT_DOUBLE_EQ(traffic.totals[0].out, 25e6);
    EXPECT_DOUBLE_EQ(traffic.lines[1].rate, 0);
    EXPECT_TRUE(std::isnan(traffic.lines[2].of_speed));
    EXPECT_TRUE(std::isnan(traffic.lines[2].nic_rate));
}

/* Another process on the same seat, or one that began anew, does not count
 * backwards. */
TEST(Traffic, NeverIsBelowZero)
{
    auto before = reading(kSecond, {process(1)},
                          {{.completed = 1'000'000}});
    auto after  = reading(2 * kSecond, {process(2)}, {{.completed = 500}});
    EXPECT_DOUBLE_EQ(compare(before, after).lines[0].rate, 500);
    after.processes[0].id = 1;
    EXPECT_DOUBLE_EQ(compare(before, after).lines[0].rate, 0);
    after.at = before.at;
    EXPECT_TRUE(std::isfinite(compare(before, after).lines[0].rate));
}

TEST(Traffic, ANicMayChangeItsPlace)
{
    auto before = reading(kSecond, {process(1)},
                          {{.nic = 1, .completed = 100}});
    auto after  = reading(2 * kSecond, {process(1)},
                          {{.nic = 0, .completed = 300}});
    after.nics  = {{"eth1", 0, {}}};
    EXPECT_DOUBLE_EQ(compare(before, after).lines[0].rate, 200);
}

TEST(ShowText, NamesWhoMoves)
{
    auto before = reading(kSecond, {process(11, "3")}, {{.completed = 0}});
    auto after  = reading(2 * kSecond, {process(11, "3")},
                          {{.completed = 50'000'000, .own = true}});
    std::string text = show_text(after, compare(before, after));
    EXPECT_NE(text.find("app[11] rank 3 50.0"), std::string::npos) << text;
    EXPECT_NE(text.find("50 %"), std::string::npos) << text;
    EXPECT_NE(text.find("eth1"), std::string::npos) << text;
}

TEST(ShowAll, SayWhichCableIsOut)
{
    auto one = reading(kSecond, {process(1)}, {{.completed = 5}});
    Traffic     traffic = compare(one, one);
    std::string text = show_text(one, traffic), json = show_json(one, traffic);
    EXPECT_EQ(text.find("carrier"), std::string::npos);
    EXPECT_NE(json.find("\"carrier\": null"), std::string::npos) << json;
    EXPECT_EQ(show_prometheus(one).find("_carrier{"), std::string::npos);

    one.nics[0].carrier = false;
    one.nics[1].carrier = true;
    traffic             = compare(one, one);
    text                = show_text(one, traffic);
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        EXPECT_EQ(line.find("(no carrier)") != std::string::npos,
                  line.starts_with("eth0")) << text;
    }
    json = show_json(one, traffic);
    EXPECT_NE(json.find("\"carrier\": false"), std::string::npos) << json;
    EXPECT_NE(json.find("\"carrier\": true"), std::string::npos) << json;
    text = show_prometheus(one);
    EXPECT_NE(text.find("_carrier{nic=\"eth0\"} 0"), std::string::npos) << text;
    EXPECT_NE(text.find("_carrier{nic=\"eth1\"} 1"), std::string::npos) << text;
}

/* Of one rail: silent since two seconds, which rests for half a second more. */
Reading::Rail silent_rail(size_t process, int64_t now)
{
    Reading::Rail rail{.process = process};
    rail.health.state     = NicState::Silent;
    rail.health.until     = now + kSecond / 2;
    rail.health.since     = now - 2 * kSecond;
    rail.health.paths     = 8;
    rail.health.paths_out = 2;
    rail.health.messages  = 1;
    rail.health.breaks    = 5;
    rail.health.moves     = 3;
    rail.health.resent    = 4'100'000;
    rail.health.out       = 10'250'000'000;
    rail.health.longest   = 38'000'000;
    return rail;
}

/* A line for each NIC, with what all processes have met there. */
TEST(ShowText, SaysWhatHasFailed)
{
    auto one = reading(5 * kSecond, {process(1), process(2)}, {});
    one.rails.push_back(silent_rail(0, one.at));
    one.rails.push_back({.process = 1});
    one.rails.back().health.paths = 3;
    std::string text = show_text(one, compare(one, one));
    EXPECT_NE(text.find("eth0  silent, rests 0.50 s    2 of 11       1 peer    "
                        "   5      3      4.1 MB  12 s        0.04 s\n"),
              std::string::npos) << text;
    EXPECT_NE(text.find("eth1  up "), std::string::npos) << text;
    one.rails.push_back({.process = 1});
    one.rails.back().health.state = NicState::Down;
    EXPECT_NE(show_text(one, compare(one, one)).find("eth0  down, rests"),
              std::string::npos);
}

TEST(ShowJson, SaysWhatEachProcessHasMet)
{
    auto one = reading(5 * kSecond, {process(7)}, {});
    one.rails.push_back(silent_rail(0, one.at));
    std::string json = show_json(one, compare(one, one));
    EXPECT_TRUE(JsonCheck::valid(json)) << json;
    for (const char *words :
         {"\"rails\": [{\"nic\": \"eth0\", \"pid\": 7,",
          "\"state\": \"silent\"", "\"rests_seconds\": 0.5",
          "\"paths\": 8", "\"paths_out\": 2", "\"message_peers\": 1",
          "\"path_breaks\": 5", "\"message_moves\": 3",
          "\"resent_bytes\": 4100000", "\"out_seconds\": 12.25",
          "\"longest_wait_seconds\": 0.038"}) {
        EXPECT_NE(json.find(words), std::string::npos) << words << json;
    }
}

TEST(ShowPrometheus, CountsWhatHasFailed)
{
    auto one = reading(5 * kSecond, {process(7)}, {});
    one.rails.push_back(silent_rail(0, one.at));
    std::string text = show_prometheus(one);
    for (const char *line :
         {"fuselink_rail_state{nic=\"eth0\",user=\"me\",program=\"app\",job="
          "\"job\",rank=\"0\",pid=\"7\",seat=\"0\"} 2\n",
          "fuselink_rail_rests_seconds{", "seat=\"0\"} 0.500\n",
          "seat=\"0\"} 12.250\n", "seat=\"0\"} 0.038\n",
          "fuselink_resent_bytes_total{", "seat=\"0\"} 4100000\n"}) {
        EXPECT_NE(text.find(line), std::string::npos) << line << text;
    }
}

TEST(ShowText, SaysThatThereIsNoBoard)
{
    Reading none;
    std::string text = show_text(none, compare(none, none));
    EXPECT_NE(text.find("no load board"), std::string::npos);
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
    EXPECT_TRUE(JsonCheck::valid(show_json(none, compare(none, none))));
}

TEST(ShowPrometheus, EscapesLabels)
{
    auto one = reading(kSecond, {process(1)}, {{.completed = 5}});
    one.processes[0].program = "a\"b\\c\nd\xff";
    std::string text = show_prometheus(one);
    EXPECT_NE(text.find("program=\"a\\\"b\\\\c\\nd?\""), std::string::npos)
        << text;
}

/* Every line is a comment or a sample of the metric that was declared last,
 * and no sample occurs twice. */
TEST(ShowPrometheus, IsWellFormed)
{
    auto one = reading(kSecond, {process(1), process(2)},
                       {{.process = 0, .completed = 5},
                        {.process = 1, .completed = 6},
                        {.process = 1, .nic = 1, .direction = Direction::In}});
    one.processes[1].seat = 1;
    one.rails = {silent_rail(0, kSecond), silent_rail(1, kSecond)};
    std::istringstream lines(show_prometheus(one));
    std::string        line, name;
    std::vector<std::string> seen;
    while (std::getline(lines, line)) {
        if (line.starts_with("# HELP ")) {
            name = line.substr(7, line.find(' ', 7) - 7);
            continue;
        }
        if (line.starts_with("# TYPE ")) {
            EXPECT_TRUE(line == "# TYPE " + name + " counter" ||
                        line == "# TYPE " + name + " gauge") << line;
            EXPECT_EQ(line.ends_with("counter"), name.ends_with("_total"));
            continue;
        }
        size_t space = line.rfind(' ');
        ASSERT_NE(space, std::string::npos) << line;
        EXPECT_EQ(line.find_first_not_of("0123456789.", space + 1),
                  std::string::npos) << line;
        std::string sample = line.substr(0, space);
        EXPECT_EQ(sample.substr(0, sample.find('{')), name) << line;
        EXPECT_EQ(std::count(seen.begin(), seen.end(), sample), 0) << line;
        seen.push_back(sample);
    }
    EXPECT_GE(seen.size(), 10u);
}

TEST(ReadBoards, ShowsWhoHasASeat)
{
    std::shared_ptr<Board> board = Board::make_private();
    auto seat = BoardSeat::take(board, {.job = 0xabc}, Board::now());
    seat->own(seat->add_nic("test-b", 1000));
    seat->add_nic("test-a", 2000);
    seat->posted(0, Direction::Out, 77, Board::now());
    seat->set_health(0, {.state = NicState::Silent});
    Reading now = read_boards({board}, Board::now());
    ASSERT_EQ(now.nics.size(), 2u);
    EXPECT_EQ(now.nics[0].name, "test-a");
    EXPECT_FALSE(now.nics[0].counters);
    ASSERT_EQ(now.processes.size(), 1u);
    EXPECT_EQ(now.processes[0].pid, getpid());
    EXPECT_EQ(now.flows.size(), 4u);
    uint64_t in_flight = 0;
    for (const auto &flow : now.flows) {
        in_flight += flow.in_flight;
        EXPECT_EQ(flow.own, now.nics[flow.nic].name == "test-b");
    }
    EXPECT_EQ(in_flight, 77u);
    ASSERT_EQ(now.rails.size(), 2u); /* test-b was entered first */
    EXPECT_EQ(now.nics[now.rails[0].nic].name, "test-b");
    EXPECT_EQ(now.rails[0].health.state, NicState::Silent);
    EXPECT_EQ(now.rails[1].health.state, NicState::Up);
}

/* All seats taken, each with all NICs, as a hostile board may claim: must be
 * done in a moment, twice a second for ever. */
TEST(ReadBoards, AFullBoardTakesNoTime)
{
    std::shared_ptr<Board> board = Board::make_private();
    std::vector<std::unique_ptr<BoardSeat>> seats;
    for (unsigned i = 0; i < board::kSeats; ++i) {
        seats.push_back(BoardSeat::take(board, {}, Board::now()));
        for (unsigned nic = 0; nic < board::kNics; ++nic) {
            seats[i]->add_nic("test-nic" + std::to_string(nic), 1);
        }
    }
    int64_t begin   = Board::now();
    Reading reading = read_boards({board}, Board::now());
    EXPECT_EQ(reading.flows.size(), size_t{board::kSeats} * board::kNics * 2);
    Traffic traffic = compare(reading, reading);
    show_text(reading, traffic);
    EXPECT_LT(Board::now() - begin, 20 * kSecond); /* under sanitizers, too */
}

/* A board full of nonsense in, well-formed text out. */
TEST(ReadBoards, NonsenseIsShownSafely)
{
    std::mt19937_64 random(7);
    constexpr size_t kWords = sizeof(board::Segment) / 8;
    auto words = std::make_unique<uint64_t[]>(kWords);
    for (int round = 0; round < 6; ++round) {
        std::shared_ptr<Board> board = Board::make_private();
        auto seat = BoardSeat::take(board, {}, Board::now());
        seat->add_nic("../../etc", 1);
        seat->add_nic("a\"b:\\..", UINT64_MAX);
        /* Some of the seats and NICs stay what they were. */
        for (size_t i = 0; i < kWords; ++i) {
            uint64_t value = random();
            words[i] = round % 2 == 0 ? value : value % 3;
        }
        if (round >= 2) {
            auto *segment = reinterpret_cast<board::Segment *>(words.get());
            board->overwrite(segment, offsetof(board::Segment, nics));
            for (unsigned n = 0; n < 1000; ++n) {
                seat->posted(0, Direction::Out, random(), Board::now());
                seat->ended(0, Direction::Out, random(), true, true,
                            Board::now());
            }
        } else {
            board->overwrite(words.get(), kWords * 8);
        }
        Reading reading = read_boards({board, board}, Board::now());
        Traffic traffic = compare(reading, reading);
        EXPECT_TRUE(JsonCheck::valid(show_json(reading, traffic)));
        std::string text = show_text(reading, traffic) +
                           show_prometheus(reading);
        for (unsigned char c : text) {
            ASSERT_TRUE(c == '\n' || (c >= 0x20 && c < 0x7f)) << int(c);
        }
        for (const auto &nic : reading.nics) {
            EXPECT_LE(nic.speed, uint64_t{1} << 40);
            EXPECT_FALSE(nic.counters);
        }
    }
}

} // namespace
} // namespace fuselink::top
