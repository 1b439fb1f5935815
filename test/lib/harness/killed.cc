/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "killed.h"
#include "failure.h"

#include <array>
#include <csignal>
#include <sched.h>
#include <time.h>
#include <unistd.h>

namespace fltest {
namespace {

constexpr timespec kLook = {0, 20'000'000};

/* Keeps the memory, and no file, until the parent's descriptors are closed: then it has another
 * parent. It has the thread-local data of the one that made it. */
int keep_memory(void *parent)
{
    close_range(0, ~0u, 0);
    while (getppid() == *static_cast<pid_t *>(parent)) {
        nanosleep(&kLook, nullptr);
    }
    _exit(0);
}

} // namespace

void be_killed()
{
    alignas(16) static std::array<char, 64 << 10> stack;
    static pid_t self = getpid();
    REQUIRE(clone(keep_memory, stack.data() + stack.size(), CLONE_VM, &self) > 0,
            "clone() failed");
    kill(self, SIGKILL);
    for (;;) {
        pause();
    }
}

} // namespace fltest
