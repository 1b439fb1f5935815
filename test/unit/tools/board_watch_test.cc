/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "ucs_ext/board_seat.h"
#include "ucs_ext/job.h"
#include "ucs_ext/nic_counters.h"

#include "unit/board/child.h"

#include <algorithm>
#include <csignal>
#include <gtest/gtest.h>

namespace fuselink {
namespace {

const Board *mine(const std::vector<std::shared_ptr<const Board>> &boards)
{
    for (const auto &board : boards) {
        if (board->owner() == geteuid()) {
            return board.get();
        }
    }
    return nullptr;
}

TEST(WatchBoard, SeesOthersAndTakesNoSeat)
{
    std::string error;
    auto board = Board::open(error);
    ASSERT_NE(board, nullptr) << error;
    auto seat = BoardSeat::take(board, {.job = 1}, Board::now());
    seat->add_nic("test-nic", 1);
    seat->posted(0, Direction::Out, 99, Board::now());

    auto boards = Board::watch();
    const Board *watched = mine(boards);
    ASSERT_NE(watched, nullptr);
    /* Others may come and go meanwhile. */
    auto   seats  = [](const Board &board) {
        auto all = board.occupants(Board::now());
        return std::count_if(all.begin(), all.end(), [](const auto &who) {
            return who.pid == getpid();
        });
    };
    auto   before = seats(*watched);
    bool   found  = false;
    for (const auto &who : watched->occupants(Board::now())) {
        for (const auto &use : who.uses) {
            found = found || (who.pid == getpid() && use.in_flight == 99);
        }
    }
    EXPECT_TRUE(found);
    EXPECT_EQ(seats(*mine(Board::watch())), before);
}

/* Looking makes no board, and keeps none once it is over. */
TEST(WatchBoard, LeavesNothingBehind)
{
    if (mine(Board::watch()) != nullptr) {
        GTEST_SKIP() << "this user has a board in use";
    }
    EXPECT_EQ(mine(Board::watch()), nullptr);
    std::string error;
    auto board = Board::open(error);
    EXPECT_NE(mine(Board::watch()), nullptr);
    auto watched = Board::watch();
    board.reset();
    EXPECT_NE(mine(watched), nullptr); /* while somebody looks */
    watched.clear();
    EXPECT_EQ(mine(Board::watch()), nullptr);
}

/* Root sees the boards of all users, who do not see root's. */
TEST(WatchBoard, OfOtherUsersIsForRoot)
{
    constexpr uid_t kNobody = 65534;
    if (geteuid() != 0) {
        GTEST_SKIP() << "needs root";
    }
    std::string error;
    auto own = Board::open(error);
    ASSERT_NE(own, nullptr) << error;
    Child nobody([&] {
        own.reset();
        if (setuid(kNobody) != 0) {
            return false;
        }
        auto board = Board::open(error);
        auto seat  = BoardSeat::take(board, {.job = 1}, Board::now());
        seat->add_nic("test-nic", 1);
        seat.release();
        new std::shared_ptr<Board>(board); /* until it is killed */
        auto boards = Board::watch();
        return boards.size() == 1 && boards[0]->owner() == kNobody;
    });
    ASSERT_TRUE(nobody.ok());
    const pid_t pid = nobody.pid();
    auto seen = [&] {
        for (const auto &board : Board::watch()) {
            for (const auto &who : board->occupants(Board::now())) {
                if (board->owner() == kNobody && who.pid == pid) {
                    return true;
                }
            }
        }
        return false;
    };
    EXPECT_TRUE(seen());
    nobody.kill();
    EXPECT_FALSE(seen());
}

/* It cannot write, whatever it does: the mapping is read only. */
TEST(WatchBoard, IsReadOnly)
{
    std::string error;
    auto board = Board::open(error);
    ASSERT_NE(board, nullptr) << error;
    pid_t pid = fork();
    if (pid == 0) {
        signal(SIGSEGV, SIG_DFL);
        auto boards = Board::watch();
        uint64_t word = 0;
        const_cast<Board *>(mine(boards))->overwrite(&word, sizeof(word));
        _exit(0);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) != 0);
}

TEST(JobPlace, IsReadFromTheEnvironmentOfOthers)
{
    int ends[2], never[2];
    ASSERT_EQ(pipe(ends), 0);
    ASSERT_EQ(pipe(never), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(never[0], 0);
        dup2(ends[1], 1);
        const char *env[] = {"NOT_PMIX_RANK=9", "PMIX_RANK=5",
                             "PMIX_NAMESPACE=the job", nullptr};
        execle("/bin/sh", "sh", "-c", "echo; read x", nullptr, env);
        _exit(1);
    }
    char ready;
    ASSERT_EQ(read(ends[0], &ready, 1), 1);
    EXPECT_EQ(job_place(pid, geteuid()).rank, "5");
    EXPECT_EQ(job_place(pid, geteuid()).job, "the job");
    EXPECT_EQ(job_place(pid, geteuid() + 1).job, ""); /* not his process */
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    EXPECT_EQ(job_place(pid, geteuid()).rank, "");
    for (int fd : {ends[0], ends[1], never[0], never[1]}) {
        close(fd);
    }
}

TEST(NicCounters, OfANameThatLeadsElsewhere)
{
    EXPECT_TRUE(read_nic_counters("lo"));
    for (const char *name : {"", ".", "..", "../net/lo", "lo/../lo", "no-such",
                             "lo:", "lo:..", ":"}) {
        EXPECT_FALSE(read_nic_counters(name)) << name;
    }
}

} // namespace
} // namespace fuselink
