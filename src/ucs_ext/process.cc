/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "process.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace fuselink {

uint64_t ProcessId::make(int32_t pid, uint64_t start, uint64_t space)
{
    uint64_t pid_part   = static_cast<uint64_t>(pid) & ((1u << kPidBits) - 1);
    uint64_t start_part = start & ((1u << kStartBits) - 1);
    return pid_part | (start_part << kPidBits) |
           (space << (kPidBits + kStartBits));
}

/* Fields 3 (state) and 22 (start) of /proc/PID/stat, counted behind the name,
 * which may contain anything. False if it cannot be read. */
bool ProcessId::read_stat(int32_t pid, uint64_t &start, bool &ended)
{
    char path[32];
    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    char text[1024];
    ssize_t length = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (length <= 0) {
        return false;
    }
    text[length]  = '\0';
    const char *p = strrchr(text, ')');
    if (p == nullptr || p[1] != ' ' || p[2] == '\0') {
        return false;
    }
    ended = p[2] == 'Z' || p[2] == 'X';
    for (int field = 2; p != nullptr && field < 22; ++field) {
        p = strchr(p + 1, ' ');
    }
    if (p == nullptr) {
        return false;
    }
    start = strtoull(p, nullptr, 10);
    return true;
}

uint64_t ProcessId::own_space()
{
    static const uint64_t space = [] {
        struct stat st{};
        if (stat("/proc/self/ns/pid", &st) != 0) {
            return uint64_t{0};
        }
        uint64_t mixed = st.st_ino * 0x9e3779b97f4a7c15u;
        return (mixed >> 48) & 0xffff;
    }();
    return space;
}

ProcessId ProcessId::self()
{
    /* By pid, not once for all: after fork() it would be the parent's. */
    static std::atomic<uint64_t> known{0};
    int32_t   pid = getpid();
    ProcessId id(known.load(std::memory_order_relaxed));
    if (id.pid() != pid) {
        uint64_t start = 0;
        bool     ended;
        read_stat(pid, start, ended);
        id = ProcessId(make(pid, start, own_space()));
        known.store(id.word(), std::memory_order_relaxed);
    }
    return id;
}

bool ProcessId::in_own_space() const
{
    return (word_ >> (kPidBits + kStartBits)) == own_space() && pid() != 0;
}

bool ProcessId::may_run() const
{
    return !in_own_space() || kill(pid(), 0) == 0 || errno != ESRCH;
}

ProcessId::Life ProcessId::life() const
{
    if (!in_own_space()) {
        return Life::Unknown;
    }
    if (!may_run()) {
        return Life::Gone;
    }
    uint64_t start = 0;
    bool     ended = false;
    if (!read_stat(pid(), start, ended)) {
        return Life::Unknown; /* /proc may be hidden from us */
    }
    return !ended && make(pid(), start, own_space()) == word_ ? Life::Running :
                                                                Life::Gone;
}

bool ProcessId::runs_since(int32_t pid, time_t when)
{
    if (kill(pid, 0) != 0 && errno == ESRCH) {
        return false;
    }
    uint64_t start = 0;
    bool     ended = false;
    timespec up{};
    if (!read_stat(pid, start, ended) ||
        clock_gettime(CLOCK_BOOTTIME, &up) != 0) {
        return true; /* /proc may be hidden from us */
    }
    /* Both clocks are rounded, to seconds and to ticks. */
    constexpr time_t kRounding = 2;
    const time_t     booted    = time(nullptr) - up.tv_sec;
    const auto       started   = static_cast<time_t>(
        start / static_cast<uint64_t>(sysconf(_SC_CLK_TCK)));
    return !ended && booted + started <= when + kRounding;
}

} // namespace fuselink
