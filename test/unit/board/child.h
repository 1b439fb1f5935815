/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_UNIT_BOARD_CHILD_H
#define FUSELINK_TEST_UNIT_BOARD_CHILD_H

#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

/** A process that does `work`, says when it is done, and then waits to be
 *  killed: with no farewell, as kill -9 has it. */
class Child {
public:
    template <typename Work> explicit Child(Work &&work)
    {
        int ends[2];
        if (pipe(ends) != 0) {
            return;
        }
        pid_ = fork();
        if (pid_ == 0) {
            alarm(60); /* never left behind */
            bool ok = work();
            char said = ok ? 'y' : 'n';
            if (write(ends[1], &said, 1) != 1) {
                _exit(1);
            }
            for (;;) {
                pause();
            }
        }
        char said = 'n';
        close(ends[1]);
        ok_ = pid_ > 0 && read(ends[0], &said, 1) == 1 && said == 'y';
        close(ends[0]);
    }
    ~Child() { kill(); }
    Child(const Child &)            = delete;
    Child &operator=(const Child &) = delete;

    bool  ok() const { return ok_; }
    pid_t pid() const { return pid_; }

    /** Without `wait` it becomes a zombie. */
    void kill(bool wait = true)
    {
        if (pid_ > 0) {
            ::kill(pid_, SIGKILL);
            siginfo_t info;
            waitid(P_PID, static_cast<id_t>(pid_), &info,
                   WEXITED | (wait ? 0 : WNOWAIT));
            if (wait) {
                pid_ = 0;
            }
        }
    }

private:
    pid_t pid_ = 0;
    bool  ok_  = false;
};

#endif
