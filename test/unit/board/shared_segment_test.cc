/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "ucs_ext/shared_segment.h"

#include "child.h"

#include <gtest/gtest.h>
#include <random>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <unistd.h>

namespace fuselink {
namespace {

/* Sizes and magics of this test alone, different in each run: others may run
 * on the machine. */
const size_t kSize = 5 * 4096 + 17 + 16 * static_cast<size_t>(getpid() % 65536);

uint64_t test_magic()
{
    static const uint64_t magic = [] {
        std::random_device random;
        return (uint64_t{random()} << 32 | random()) | 1;
    }();
    return magic;
}

/* Segments of this user and size, whatever state they are in. */
int segments()
{
    int count = 0;
    shm_info info;
    int last = shmctl(0, SHM_INFO, reinterpret_cast<shmid_ds *>(&info));
    for (int i = 0; i <= last; ++i) {
        shmid_ds state;
        count += shmctl(i, SHM_STAT, &state) >= 0 && state.shm_segsz == kSize &&
                 state.shm_perm.cuid == geteuid();
    }
    return count;
}

std::atomic<uint32_t> *words(const SharedSegment &segment)
{
    return static_cast<std::atomic<uint32_t> *>(segment.memory()) + 4;
}

TEST(SharedSegment, IsSharedAndLeavesNothing)
{
    std::string error;
    {
        auto first = SharedSegment::open(test_magic(), kSize, error);
        ASSERT_NE(first, nullptr) << error;
        EXPECT_EQ(words(*first)[0], 0u);
        Child child([&] {
            auto theirs = SharedSegment::open(test_magic(), kSize, error);
            if (theirs == nullptr) {
                return false;
            }
            words(*theirs)[0] = 4711;
            theirs.release(); /* killed with it */
            return true;
        });
        ASSERT_TRUE(child.ok());
        EXPECT_EQ(words(*first)[0], 4711u);
        EXPECT_EQ(segments(), 1);
    }
    EXPECT_EQ(segments(), 0);
}

TEST(SharedSegment, TheLastOneIsKilled)
{
    {
        Child child([&] {
            std::string error;
            return SharedSegment::open(test_magic(), kSize, error).release() !=
                   nullptr;
        });
        ASSERT_TRUE(child.ok());
        EXPECT_EQ(segments(), 1);
    }
    EXPECT_EQ(segments(), 0);
}

TEST(SharedSegment, AllWhoComeAtOnceGetTheSame)
{
    for (int round = 0; round < 20; ++round) {
        int go[2], back[2];
        ASSERT_EQ(pipe(go), 0);
        ASSERT_EQ(pipe(back), 0);
        constexpr int kProcesses = 6;
        pid_t pids[kProcesses];
        for (auto &pid : pids) {
            pid = fork();
            if (pid == 0) {
                alarm(60);
                char c;
                close(go[1]);
                if (read(go[0], &c, 1) != 0) {
                    _exit(1);
                }
                std::string error;
                auto mine = SharedSegment::open(test_magic(), kSize, error);
                uint32_t turn = mine == nullptr ? 1000u :
                                                  words(*mine)[0].fetch_add(1);
                if (write(back[1], &turn, sizeof(turn)) < 0) {
                    _exit(1);
                }
                pause();
                _exit(0);
            }
        }
        close(go[0]);
        close(go[1]); /* now */
        uint32_t seen = 0;
        for (int i = 0; i < kProcesses; ++i) {
            uint32_t turn = 1000;
            EXPECT_EQ(read(back[0], &turn, sizeof(turn)),
                      ssize_t(sizeof(turn)));
            ASSERT_LT(turn, unsigned(kProcesses)) << "round " << round;
            seen |= 1u << turn;
        }
        EXPECT_EQ(seen, (1u << kProcesses) - 1) << "round " << round;
        EXPECT_EQ(segments(), 1);
        for (auto pid : pids) {
            kill(pid, SIGKILL);
            waitpid(pid, nullptr, 0);
        }
        close(back[0]);
        close(back[1]);
        EXPECT_EQ(segments(), 0);
    }
}

TEST(SharedSegment, AnotherMagicIsAnotherSegment)
{
    std::string error;
    auto one   = SharedSegment::open(test_magic(), kSize, error);
    auto other = SharedSegment::open(test_magic() + 2, kSize, error);
    ASSERT_NE(one, nullptr) << error;
    ASSERT_NE(other, nullptr) << error;
    words(*one)[0] = 1;
    EXPECT_EQ(words(*other)[0], 0u);
}

/* Killed while it set the segment up. */
TEST(SharedSegment, WhatAZombieHasBegunIsNotWaitedFor)
{
    std::string error;
    const uint64_t magic = test_magic() + 4;
    Child child([&] {
        key_t key = SharedSegment::key_of(magic);
        int   id  = shmget(key, kSize, IPC_CREAT | IPC_EXCL | 0600);
        return id >= 0;
    });
    ASSERT_TRUE(child.ok());
    /* Its maker is at it. */
    EXPECT_EQ(SharedSegment::open(magic, kSize, error), nullptr);
    child.kill(false);
    EXPECT_NE(SharedSegment::open(magic, kSize, error), nullptr) << error;
    EXPECT_EQ(segments(), 0);
}

TEST(SharedSegment, SaysWhyNot)
{
    std::string error;
    EXPECT_EQ(SharedSegment::open(test_magic(), SIZE_MAX / 2, error), nullptr);
    EXPECT_NE(error.find("shmget"), std::string::npos) << error;
}

} // namespace
} // namespace fuselink
