/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_UNIT_HOST_IN_NAMESPACE_H
#define FUSELINK_TEST_UNIT_HOST_IN_NAMESPACE_H

#include <cstdio>
#include <cstdlib>
#include <gtest/gtest.h>
#include <sched.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

inline constexpr int kNoNamespace = 200, kNoTool = 201, kGood = 0;

/* A process with a network namespace of its own, in which nothing is but a loopback
 * interface that is down: what body() returns is its exit status, the number of the
 * line that was not well. */
inline int in_namespace(int (*body)())
{
    const pid_t pid = fork();
    if (pid == 0) {
        alarm(120); /* never left behind */
        if (unshare(CLONE_NEWNET) != 0) {
            _exit(kNoNamespace);
        }
        if (system("ip link show >/dev/null 2>&1") != 0) {
            _exit(kNoTool);
        }
        _exit(body());
    }
    int status = -1;
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

#define RUN_IN_NAMESPACE(body)                                              \
    do {                                                                    \
        const int result_ = in_namespace(body);                             \
        if (result_ == kNoNamespace) {                                      \
            GTEST_SKIP() << "no network namespace of its own: not root";    \
        }                                                                   \
        if (result_ == kNoTool) {                                           \
            GTEST_SKIP() << "no ip(8)";                                     \
        }                                                                   \
        EXPECT_EQ(result_, kGood) << "see what the process has printed";    \
    } while (0)

#define WANT(condition)                                                     \
    do {                                                                    \
        if (!(condition)) {                                                 \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__,    \
                    #condition);                                            \
            return 1;                                                       \
        }                                                                   \
    } while (0)

inline bool run(const std::string &command)
{
    return system(command.c_str()) == 0;
}

#endif
