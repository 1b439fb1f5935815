/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "ucs_ext/board_seat.h"

#include "ucs_ext/board_layout.h"

#include "../host/fake_host.h"
#include "child.h"

#include <gtest/gtest.h>
#include <random>

namespace fuselink {
namespace {

constexpr int64_t kNow = 1'000'000'000'000;

struct Someone {
    Someone(const std::shared_ptr<Board> &board,
            const BoardSeat::Settings &settings = {.job = 1},
            std::initializer_list<const char *> nics = {"eth0", "eth1"})
        : seat(BoardSeat::take(board, settings, kNow))
    {
        for (const char *nic : nics) {
            seat->add_nic(nic, 125'000'000);
        }
    }
    BoardSeat::Load load(size_t nic, Direction direction = Direction::Out,
                         int64_t now = kNow) const
    {
        std::vector<BoardSeat::Load> loads;
        seat->read(direction, now, loads);
        return loads.at(nic);
    }
    std::unique_ptr<BoardSeat> seat;
};

TEST(Board, OthersAreSeenAndOneselfIsNot)
{
    auto board = Board::make_private();
    Someone a(board), b(board), c(board);
    a.seat->posted(0, Direction::Out, 1000, kNow);
    b.seat->posted(0, Direction::Out, 500, kNow);
    b.seat->posted(1, Direction::In, 70, kNow);

    EXPECT_EQ(a.load(0).in_flight, 500u);
    EXPECT_EQ(a.load(0).users, 1u);
    EXPECT_EQ(c.load(0).in_flight, 1500u);
    EXPECT_EQ(c.load(0).users, 2u);
    EXPECT_EQ(c.load(1).in_flight, 0u);
    EXPECT_EQ(c.load(1, Direction::In).in_flight, 70u);

    a.seat->ended(0, Direction::Out, 600, true, false, kNow);
    b.seat->ended(0, Direction::Out, 500, false, false, kNow);
    EXPECT_EQ(c.load(0).in_flight, 400u);
    EXPECT_EQ(c.load(0).completed, 600u);
}

/* Of whoever has a seat, and of the one before not any more. */
TEST(Board, SaysWhereProcessesAreBound)
{
    CpuSet first, last;
    first.set(0).set(63);
    last.set(64).set(CpuSet().size() - 1);
    auto board = Board::make_private();
    EXPECT_TRUE(board->bound().cpus.none());
    Someone a(board), b(board);
    EXPECT_TRUE(board->bound().cpus.none());
    a.seat->bind(first);
    b.seat->bind(last);
    EXPECT_EQ(board->bound().cpus, first | last);
    EXPECT_EQ(board->bound().seats, 2u);
    a.seat.reset();
    EXPECT_EQ(board->bound().cpus, last);
    Someone c(board); /* has the seat of `a` */
    EXPECT_EQ(board->bound().cpus, last);
    EXPECT_EQ(board->bound().seats, 1u);
    b.seat->bind({});
    EXPECT_EQ(board->bound().seats, 0u);
    EXPECT_TRUE(board->bound().cpus.none());
}

/* Who sent a moment ago is a user; who did not long ago still shares the NIC. */
TEST(Board, SharersAreRememberedLongerThanUsers)
{
    auto board = Board::make_private();
    Someone a(board), b(board);
    EXPECT_EQ(a.load(0).sharers, 0u);
    b.seat->posted(0, Direction::Out, 500, kNow);
    EXPECT_EQ(a.load(0).sharers, 1u);
    EXPECT_EQ(a.load(1).sharers, 0u);
    b.seat->ended(0, Direction::Out, 500, true, false, kNow);
    auto later = [&](int64_t passed) {
        return a.load(0, Direction::Out, kNow + passed);
    };
    EXPECT_EQ(later(Board::kHold).users, 0u);
    EXPECT_EQ(later(Board::kHold).sharers, 1u);
    EXPECT_EQ(later(Board::kRecent - 1).sharers, 1u);
    EXPECT_EQ(later(Board::kRecent).sharers, 0u);
}

TEST(Board, NicsAreKnownByNameInWhateverOrder)
{
    auto board = Board::make_private();
    Someone a(board, {.job = 1}, {"eth0", "eth1", "eth2"});
    Someone b(board, {.job = 1}, {"eth2", "eth0"});
    a.seat->posted(2, Direction::Out, 9, kNow);
    EXPECT_EQ(b.load(0).in_flight, 9u);
    EXPECT_EQ(b.load(1).in_flight, 0u);
    auto nics = board->nics();
    ASSERT_EQ(nics.size(), 3u);
    EXPECT_EQ(nics[1].name, "eth1");
    EXPECT_EQ(nics[1].speed, 125'000'000u);
}

TEST(Board, WhoJustFinishedStillCounts)
{
    auto board = Board::make_private();
    Someone a(board), b(board);
    a.seat->posted(0, Direction::Out, 10, kNow);
    a.seat->ended(0, Direction::Out, 10, true, false, kNow);
    EXPECT_EQ(b.load(0).users, 1u);
    EXPECT_EQ(b.load(0).in_flight, 0u);
    EXPECT_EQ(b.load(0, Direction::Out, kNow + Board::kHold).users, 0u);
}

TEST(Board, WhatDoesNotMoveIsForgotten)
{
    auto board = Board::make_private();
    Someone a(board), b(board);
    a.seat->posted(0, Direction::Out, 10, kNow);
    EXPECT_EQ(b.load(0, Direction::Out, kNow + Board::kStale - 1).in_flight,
              10u);
    EXPECT_EQ(b.load(0, Direction::Out, kNow + Board::kStale).in_flight, 0u);
    EXPECT_EQ(b.load(0, Direction::Out, kNow + Board::kStale).users, 0u);
}

TEST(Board, OwnersAndPriorities)
{
    auto board = Board::make_private();
    Someone owner(board), other(board);
    Someone boss(board, {.job = 2, .priority = Priority::High});
    owner.seat->own(1);
    EXPECT_TRUE(other.load(1).owned);
    EXPECT_FALSE(other.load(1).owner);
    EXPECT_FALSE(other.load(0).owned);
    EXPECT_FALSE(owner.load(1).owned);
    owner.seat->posted(1, Direction::Out, 1, kNow);
    EXPECT_TRUE(other.load(1).owner);
    EXPECT_EQ(other.load(1).highest, Priority::Normal);
    boss.seat->posted(1, Direction::Out, 1, kNow);
    EXPECT_EQ(other.load(1).highest, Priority::High);
}

/* What a process only claims is its own as to other jobs, but for those of which one
 * claims it as well. */
TEST(Board, ClaimsCountAmongJobs)
{
    using Claim = BoardSeat::Claim;
    auto board = Board::make_private();
    Someone one(board), sibling(board);
    Someone other(board, {.job = 2}), others(board, {.job = 2});
    one.seat->own(1, Claim::OtherJobs);
    one.seat->posted(1, Direction::Out, 1, kNow);
    EXPECT_FALSE(sibling.load(1).owned);
    EXPECT_FALSE(sibling.load(1).owner);
    EXPECT_TRUE(other.load(1).owned);
    EXPECT_TRUE(other.load(1).owner);
    EXPECT_FALSE(other.load(0).owned);

    EXPECT_FALSE(other.load(1, Direction::In).owned); /* nothing comes in by it */
    /* A program that is there and sends nothing is no owner. */
    EXPECT_TRUE(other.load(1, Direction::Out, kNow + Board::kClaimHolds - 1).owned);
    EXPECT_FALSE(other.load(1, Direction::Out, kNow + Board::kClaimHolds).owned);

    others.seat->own(1, Claim::OtherJobs);
    for (const Someone *each : {&one, &sibling, &other, &others}) {
        EXPECT_FALSE(each->load(1).owned);
        EXPECT_FALSE(each->load(1).owner);
    }
    std::vector<uint32_t> owners;
    sibling.seat->owners(owners);
    EXPECT_EQ(owners, (std::vector<uint32_t>{0, 2}));
    one.seat->owners(owners);
    EXPECT_EQ(owners, (std::vector<uint32_t>{0, 1}));

    others.seat->own(1, Claim::None);
    EXPECT_TRUE(other.load(1).owned);
    EXPECT_FALSE(one.load(1).owned);
    /* Named by somebody it is his as to everybody. */
    others.seat->own(1, Claim::Everybody);
    EXPECT_TRUE(one.load(1).owned);
    EXPECT_TRUE(sibling.load(1).owned);
    EXPECT_TRUE(other.load(1).owned); /* his sibling's, too */
    one.seat->own(1, Claim::None);
    others.seat->own(1, Claim::None);
    EXPECT_FALSE(other.load(1).owned);
    EXPECT_FALSE(sibling.load(1).owned);
}

/* Where a job's processes are to leave each other's, claims count among them as well. */
TEST(Board, ClaimsCountAmongSiblingsIfTheySaySo)
{
    using Claim = BoardSeat::Claim;
    auto board = Board::make_private();
    const BoardSeat::Settings settings{.job = 1, .siblings = true};
    Someone one(board, settings), sibling(board, settings);
    Someone other(board, {.job = 2});
    one.seat->own(1, Claim::OtherJobs);
    one.seat->posted(1, Direction::Out, 1, kNow);
    EXPECT_TRUE(sibling.load(1).owner);
    EXPECT_TRUE(other.load(1).owner);
    sibling.seat->own(1, Claim::OtherJobs); /* of both */
    EXPECT_FALSE(sibling.load(1).owned);
    EXPECT_TRUE(other.load(1).owned);
    other.seat->own(1, Claim::OtherJobs); /* no less than theirs */
    EXPECT_FALSE(other.load(1).owned);
}

TEST(Board, PlacesAreCountedPerJob)
{
    auto board = Board::make_private();
    Someone a(board), b(board, {.job = 2}), c(board), d(board, {.job = 2});
    EXPECT_EQ(a.seat->place(), 0u);
    EXPECT_EQ(b.seat->place(), 0u);
    EXPECT_EQ(c.seat->place(), 1u);
    EXPECT_EQ(d.seat->place(), 1u);
}

TEST(Board, SeatsAreUsedAgainAndEmpty)
{
    auto board = Board::make_private();
    Someone watcher(board);
    for (int i = 0; i < 1000; ++i) {
        Someone guest(board);
        guest.seat->posted(0, Direction::Out, 5, kNow);
        ASSERT_EQ(watcher.load(0).in_flight, 5u);
    }
    EXPECT_EQ(watcher.load(0).in_flight, 0u);
    EXPECT_EQ(watcher.load(0).completed, 0u);
    EXPECT_EQ(board->occupants(kNow).size(), 1u);
}

TEST(Board, IsFullAtSomeTime)
{
    auto board = Board::make_private();
    std::vector<std::unique_ptr<BoardSeat>> seats;
    for (unsigned i = 0; i < board::kSeats; ++i) {
        seats.push_back(BoardSeat::take(board, {}, kNow));
        ASSERT_NE(seats.back(), nullptr);
    }
    EXPECT_EQ(BoardSeat::take(board, {}, kNow), nullptr);
    for (unsigned i = 0; i < board::kNics; ++i) {
        EXPECT_EQ(seats[0]->add_nic("nic" + std::to_string(i), 1), int(i));
    }
    EXPECT_EQ(seats[0]->add_nic("more", 1), -1);
    seats[0].reset();
    /* Nobody uses those NICs any more. */
    EXPECT_EQ(seats[1]->add_nic("more", 1), 0);
    EXPECT_NE(BoardSeat::take(board, {}, kNow), nullptr);
}

TEST(Board, WhatHasFailedIsShown)
{
    auto      board = Board::make_private();
    NicHealth health{.state     = NicState::Silent,
                     .until     = kNow + 500,
                     .since     = kNow - 7,
                     .paths     = 8,
                     .paths_out = 2,
                     .messages  = 3,
                     .breaks    = 4,
                     .moves     = 5,
                     .resent    = 6,
                     .out       = 9,
                     .longest   = 10};
    {
        Someone a(board);
        a.seat->set_health(1, health);
        a.seat->set_health(-1, health); /* found no place: nothing */
        const auto all = board->occupants(kNow);
        ASSERT_EQ(all.size(), 1u);
        ASSERT_EQ(all[0].health.size(), 2u);
        EXPECT_EQ(all[0].health[0].health.state, NicState::Up);
        EXPECT_EQ(all[0].health[0].health.breaks, 0u);
        const NicHealth &read = all[0].health[1].health;
        EXPECT_EQ(read.state, NicState::Silent);
        EXPECT_EQ(read.until, kNow + 500);
        EXPECT_EQ(read.since, kNow - 7);
        EXPECT_EQ(read.paths, 8u);
        EXPECT_EQ(read.paths_out, 2u);
        EXPECT_EQ(read.messages, 3u);
        EXPECT_EQ(read.breaks, 4u);
        EXPECT_EQ(read.moves, 5u);
        EXPECT_EQ(read.resent, 6u);
        EXPECT_EQ(read.out, 9u);
        EXPECT_EQ(read.longest, 10u);
        /* What rested does not any more. */
        EXPECT_EQ(board->occupants(kNow + 500)[0].health[1].health.until, 0);
    }
    Someone next(board);
    EXPECT_EQ(board->occupants(kNow)[0].health[1].health.breaks, 0u);
}

/* Two processes that do not see each other's end: of two PID namespaces. */
struct Strangers {
    Strangers()
    {
        here.others  = ProcessId::Life::Unknown;
        there.others = ProcessId::Life::Unknown;
        theirs.seat->own(0);
    }
    /* Long enough to look after each seat. */
    void tick(int64_t now) const
    {
        for (int i = 0; i < 100; ++i) {
            ours.seat->tick(now);
        }
    }

    FakeProcesses          here{1}, there{2};
    std::shared_ptr<Board> board = Board::make_private(here);
    Someone                ours{board};
    Someone                theirs{board->seen_by(there)};
};

/* A dead rank of another pod must not keep a NIC. */
TEST(Board, TheSilentOfAnotherSpaceAreCleared)
{
    Strangers      both;
    const int64_t  late = kNow + Board::kForgotten;
    both.tick(late);
    EXPECT_TRUE(both.ours.load(0).owned);
    both.tick(late + 1);
    EXPECT_FALSE(both.ours.load(0).owned);
    EXPECT_EQ(both.board->occupants(late).size(), 1u);
}

/* It had only been silent, and may sit down again. */
TEST(Board, WhoWasTakenForDeadIsTold)
{
    Strangers     both;
    const int64_t late = kNow + Board::kForgotten + 1;
    both.tick(late);
    auto seat = BoardSeat::take(both.board, {.job = 2}, late);
    seat->add_nic("eth0", 1);
    EXPECT_FALSE(both.theirs.seat->lost());
    /* Somebody else has the seat by now: nothing is written there. */
    both.theirs.seat->posted(0, Direction::Out, 4711, late);
    EXPECT_EQ(both.ours.load(0, Direction::Out, late).in_flight, 0u);
    both.theirs.seat->tick(late);
    EXPECT_TRUE(both.theirs.seat->lost());
    both.theirs.seat.reset();
    EXPECT_EQ(both.board->occupants(late).size(), 2u);
    EXPECT_FALSE(seat->lost());
}

/* Also who only receives, and does not look after others. */
TEST(Board, TrafficIsASignOfLife)
{
    Strangers     both;
    const int64_t half = kNow + Board::kForgotten / 2;
    both.theirs.seat->ended(1, Direction::In, 10, true, false, half);
    both.tick(kNow + Board::kForgotten + 1);
    EXPECT_TRUE(both.ours.load(0).owned);
    both.tick(half + Board::kForgotten + 1);
    EXPECT_FALSE(both.ours.load(0).owned);
}

/* On the board of this user, which other processes of the machine may use, such as
 * these tests started twice: the NIC is this run's own. */
const std::string kNic = "test-" + std::to_string(getpid());

class SharedBoard : public testing::Test {
protected:
    void SetUp() override
    {
        std::string error;
        board_ = Board::open(error);
        ASSERT_NE(board_, nullptr) << error;
        seat_ = BoardSeat::take(board_, {.job = 1}, Board::now());
        ASSERT_NE(seat_, nullptr);
        seat_->add_nic(kNic, 1);
    }
    BoardSeat::Load load() const
    {
        std::vector<BoardSeat::Load> loads;
        seat_->read(Direction::Out, Board::now(), loads);
        return loads.at(0);
    }
    bool sits_there(pid_t pid) const
    {
        for (const auto &who : board_->occupants(Board::now())) {
            if (who.pid == pid) {
                return true;
            }
        }
        return false;
    }
    /* Inherits the mapping, as a process of another program would get it. */
    std::unique_ptr<Child> sender(uint64_t bytes)
    {
        return std::make_unique<Child>([=] {
            std::string error;
            auto board = Board::open(error);
            auto seat  = BoardSeat::take(board, {.job = 1}, Board::now());
            if (seat == nullptr || seat->add_nic(kNic, 1) != 0) {
                return false;
            }
            seat->posted(0, Direction::Out, bytes, Board::now());
            seat.release();
            return true;
        });
    }

    std::shared_ptr<Board>     board_;
    std::unique_ptr<BoardSeat> seat_;
};

TEST_F(SharedBoard, IsOnePerProcess)
{
    std::string error;
    EXPECT_EQ(Board::open(error), board_);
}

TEST_F(SharedBoard, ShowsOtherProcesses)
{
    auto child = sender(12345);
    ASSERT_TRUE(child->ok());
    EXPECT_EQ(load().in_flight, 12345u);
    EXPECT_TRUE(sits_there(child->pid()));
}

/* Invariant: killing any process leaves no false load behind for longer than
 * a second; half of it is what a cell needs to become stale. */
TEST_F(SharedBoard, ForgetsTheKilledWithinASecond)
{
    for (bool reaped : {true, false}) {
        auto child = sender(777);
        ASSERT_TRUE(child->ok());
        ASSERT_EQ(load().in_flight, 777u);
        pid_t pid = child->pid();
        child->kill(reaped);
        EXPECT_FALSE(sits_there(pid));
        int64_t killed = Board::now();
        bool cleared   = false;
        while (!cleared && Board::now() - killed < 3'000'000'000) {
            seat_->tick(Board::now());
            cleared = load().in_flight == 0;
            usleep(1000);
        }
        EXPECT_TRUE(cleared);
        EXPECT_LT(Board::now() - killed, 1'000'000'000);
    }
}

TEST_F(SharedBoard, SeatsOfTheKilledAreTakenAgain)
{
    /* More than there are seats, were they not cleared. */
    for (unsigned i = 0; i < board::kSeats + 50; ++i) {
        pid_t pid = fork();
        if (pid == 0) {
            auto seat = BoardSeat::take(board_, {.job = 1}, Board::now());
            _exit(seat.release() != nullptr ? 0 : 1);
        }
        int status = 1;
        waitpid(pid, &status, 0);
        ASSERT_EQ(status, 0) << i;
    }
}

/* Whatever is in the segment, everything comes back bounded. Sanitizers see
 * the rest. */
TEST(Board, NonsenseDoesNoHarm)
{
    std::mt19937_64 random(1);
    auto segment = std::make_unique<uint64_t[]>(sizeof(board::Segment) / 8);
    for (int round = 0; round < 10; ++round) {
        auto board = Board::make_private();
        Someone a(board);
        for (size_t i = 0; i < sizeof(board::Segment) / 8; ++i) {
            /* Small numbers, so that some states are valid. */
            uint64_t value = random();
            segment[i]     = round % 2 == 0 ? value : value % 3;
        }
        board->overwrite(segment.get(), sizeof(board::Segment));
        for (auto direction : {Direction::Out, Direction::In}) {
            for (size_t nic = 0; nic < 2; ++nic) {
                const BoardSeat::Load load = a.load(nic, direction);
                EXPECT_LE(load.in_flight, Board::kMostBytes);
                EXPECT_LE(load.users, board::kSeats);
                EXPECT_LE(load.sharers, board::kSeats);
                EXPECT_LE(load.highest, Priority::High);
            }
        }
        for (const auto &who : board->occupants(kNow)) {
            EXPECT_LE(who.name.size(), 16u);
            for (const auto &use : who.uses) {
                EXPECT_LT(use.nic, board::kNics);
                EXPECT_LE(use.in_flight, Board::kMostBytes);
            }
            for (const auto &[nic, health] : who.health) {
                EXPECT_LT(nic, board::kNics);
                EXPECT_LE(health.state, NicState::Down);
                EXPECT_LE(health.until, kNow + Board::kLongestRest);
                EXPECT_LE(health.since, kNow);
                EXPECT_GE(health.since, 0);
                EXPECT_LE(health.paths_out, health.paths);
                EXPECT_LE(health.paths, Board::kMostEvents);
                EXPECT_LE(health.messages, Board::kMostEvents);
                EXPECT_LE(health.breaks, Board::kMostEvents);
                EXPECT_LE(health.moves, Board::kMostEvents);
                EXPECT_LE(health.resent, Board::kMostBytes);
                EXPECT_LE(health.out, Board::kMostTime);
                EXPECT_LE(health.longest, Board::kMostTime);
            }
        }
        board->nics();
        a.seat->posted(0, Direction::Out, 5, kNow);
        a.seat->ended(0, Direction::Out, 5, true, true, kNow);
        a.seat->set_health(0, {.breaks = 1});
        a.seat->tick(kNow); /* finds that the seat is not ours any more */
        a.seat->posted(1, Direction::Out, 5, kNow);
        a.seat->add_nic("eth9", 1);
        BoardSeat::take(board, {}, kNow);
    }
}

} // namespace
} // namespace fuselink
