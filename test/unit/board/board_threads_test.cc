/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
/* The board as several engines use it at once: real threads, which the thread
 * sanitizer watches in contrib/check's stage unit-tsan. */
#include "ucs_ext/board_seat.h"

#include "ucs_ext/board_layout.h"

#include <atomic>
#include <barrier>
#include <gtest/gtest.h>
#include <set>
#include <thread>

namespace fuselink {
namespace {

/* It stands still, so that nothing becomes stale on a machine that does. */
constexpr int64_t kNow = 1'000'000'000'000;

constexpr unsigned kThreads = 4;

/* work(0) to work(kThreads - 1), at once. */
template <typename Work> void together(Work &&work)
{
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < kThreads; ++i) {
        threads.emplace_back(work, i);
    }
    for (auto &thread : threads) {
        thread.join();
    }
}

BoardSeat::Load load(const BoardSeat &seat, size_t nic, Direction direction)
{
    std::vector<BoardSeat::Load> loads;
    seat.read(direction, kNow, loads);
    return loads.at(nic);
}

/* Had two the same seat, or cells of somebody before them, a sum would be
 * wrong. */
TEST(BoardThreads, SeatsComeAndGoAndSumsAreRight)
{
    constexpr int         kRounds = 100;
    auto                  board   = Board::make_private();
    std::barrier          all(kThreads);
    std::atomic<unsigned> wrong{0};
    together([&](unsigned me) {
        for (int round = 0; round < kRounds; ++round) {
            /* Those who come while others leave. */
            auto seat = BoardSeat::take(board, {.job = me % 2 + 1}, kNow);
            seat->add_nic("eth0", 1);
            seat->posted(0, Direction::Out, me + 1, kNow);
            seat->posted(0, Direction::In, 100, kNow);
            all.arrive_and_wait();
            unsigned sum = kThreads * (kThreads + 1) / 2;
            auto out = load(*seat, 0, Direction::Out);
            auto in  = load(*seat, 0, Direction::In);
            wrong += out.in_flight != sum - (me + 1);
            wrong += in.in_flight != 100 * (kThreads - 1);
            wrong += out.users != kThreads - 1;
            wrong += seat->place() >= kThreads / 2;
            seat->tick(kNow);
            all.arrive_and_wait();
            seat->ended(0, Direction::Out, me + 1, true, false, kNow);
            seat->set_in_flight(0, Direction::In, 0, kNow);
            all.arrive_and_wait();
            out = load(*seat, 0, Direction::Out);
            in  = load(*seat, 0, Direction::In);
            wrong += out.in_flight != 0 || in.in_flight != 0;
            wrong += out.completed != sum - (me + 1);
            all.arrive_and_wait(); /* nobody leaves before all have looked */
        }
    });
    EXPECT_EQ(wrong.load(), 0u);
    EXPECT_TRUE(board->occupants(kNow).empty());
    auto seat = BoardSeat::take(board, {.job = 1}, kNow);
    seat->add_nic("eth0", 1);
    EXPECT_EQ(load(*seat, 0, Direction::Out).in_flight, 0u);
    EXPECT_EQ(load(*seat, 0, Direction::Out).completed, 0u);
}

/* Nobody waits for anybody, and no reader meets half a value. */
TEST(BoardThreads, ReadersMeetWholeValues)
{
    constexpr uint64_t    kPiece = 0x100000001; /* both halves of a word */
    constexpr int         kTurns = 2000;
    auto                  board  = Board::make_private();
    std::atomic<unsigned> wrong{0}, writing{kThreads};
    std::thread           reader([&] {
        auto seat = BoardSeat::take(board, {}, kNow);
        seat->add_nic("eth0", 1);
        uint64_t completed = 0;
        while (writing.load() != 0) {
            auto seen = load(*seat, 0, Direction::Out);
            wrong += seen.in_flight % kPiece != 0;
            wrong += seen.in_flight > kThreads * kPiece;
            wrong += seen.completed % kPiece != 0;
            wrong += seen.completed < completed;
            wrong += seen.users > kThreads;
            completed = seen.completed;
            for (const auto &who : board->occupants(kNow)) {
                wrong += who.name.empty();
                for (const auto &use : who.uses) {
                    wrong += use.in_flight % kPiece != 0;
                }
            }
        }
        wrong += load(*seat, 0, Direction::Out).completed !=
                 kThreads * kTurns * kPiece;
        writing = kThreads + 1; /* those who wrote may leave */
    });
    together([&](unsigned) {
        auto seat = BoardSeat::take(board, {}, kNow);
        seat->add_nic("eth0", 1);
        for (int turn = 0; turn < kTurns; ++turn) {
            seat->posted(0, Direction::Out, kPiece, kNow);
            seat->ended(0, Direction::Out, kPiece, true, false, kNow);
        }
        --writing;
        while (writing.load() != kThreads + 1) {
            std::this_thread::yield();
        }
    });
    reader.join();
    EXPECT_EQ(wrong.load(), 0u);
}

/* A NIC that was entered twice would be two: those who use the one would not
 * see the load of the other. */
TEST(BoardThreads, ANicIsEnteredOnce)
{
    constexpr unsigned    kNics = 8, kRounds = 40;
    std::barrier          all(kThreads);
    std::atomic<unsigned> wrong{0};
    std::shared_ptr<Board> board;
    together([&](unsigned me) {
        for (unsigned round = 0; round < kRounds; ++round) {
            if (me == 0) {
                board = Board::make_private();
            }
            all.arrive_and_wait();
            auto seat = BoardSeat::take(board, {}, kNow);
            /* Each begins with another. */
            for (unsigned i = 0; i < kNics; ++i) {
                unsigned which = (i + me * (round % 3)) % kNics;
                wrong += seat->add_nic("eth" + std::to_string(which), 1) !=
                         static_cast<int>(i);
            }
            all.arrive_and_wait();
            auto nics = board->nics();
            std::set<std::string> names;
            for (const auto &nic : nics) {
                names.insert(nic.name);
            }
            wrong += nics.size() != kNics || names.size() != kNics;
            all.arrive_and_wait();
        }
    });
    EXPECT_EQ(wrong.load(), 0u);
}

} // namespace
} // namespace fuselink
