/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_CHILD_H
#define FUSELINK_TEST_CHILD_H

#include "case.h"

#include <chrono>
#include <string>
#include <sys/types.h>

namespace fltest {

/** One side of a case: what it came to. */
struct Outcome {
    enum class Kind : uint8_t { Passed, Skipped, Failed };

    Kind        kind = Kind::Passed;
    std::string reason{};
};

/** One side of a case as a process of its own, with its output caught. */
class Child {
public:
    /** Starts it. `body` is run there. */
    Child(const Case &test, Side side, const std::function<void()> &body);
    ~Child();
    Child(const Child &)            = delete;
    Child &operator=(const Child &) = delete;

    /** Waits for the end; kills it after the case's time. */
    Outcome wait();

private:
    using Clock = std::chrono::steady_clock;

    [[noreturn]] void run(const std::function<void()> &body) const;
    std::string how_it_ended(int status, bool late) const;
    std::string check_output(const std::string &output) const;

    const Case       &test_;
    Side              side_;
    int               result_; /* files in memory: nothing to drain while the */
    int               output_; /* child runs, and kept if it dies */
    Clock::time_point deadline_;
    pid_t             pid_;
};

} // namespace fltest

#endif
