/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_WORKER_H
#define FUSELINK_TEST_WORKER_H

#include "harness/channel.h"
#include "harness/failure.h"

#include <chrono>
#include <ctime>
#include <uct/api/uct.h>

namespace fltest {

/** Fails unless `call` returns UCS_OK. */
#define REQUIRE_OK(call)                                             \
    do {                                                             \
        ucs_status_t status_ = (call);                               \
        REQUIRE(status_ == UCS_OK, "%s: %s", #call,                  \
                ucs_status_string(status_));                         \
    } while (0)

/** A UCT worker with the context that it belongs to. */
class Worker {
public:
    Worker()
    {
        REQUIRE_OK(ucs_async_context_create(UCS_ASYNC_MODE_THREAD_SPINLOCK,
                                            &async_));
        REQUIRE_OK(uct_worker_create(async_, UCS_THREAD_MODE_SINGLE, &worker_));
    }
    ~Worker()
    {
        uct_worker_destroy(worker_);
        ucs_async_context_destroy(async_);
    }
    Worker(const Worker &)            = delete;
    Worker &operator=(const Worker &) = delete;

    uct_worker_h handle() const { return worker_; }

    /** Sleeps a little when there is nothing to do for long: the machines that
     *  run these tests have fewer cores than the tests have processes. Not by
     *  sched_yield(), with which a process among busy ones waits for all of
     *  them each time. */
    unsigned progress()
    {
        unsigned count = uct_worker_progress(worker_);
        if (count != 0) {
            idle_ = 0;
        } else if (++idle_ > kIdle) {
            timespec little{0, 20000};
            nanosleep(&little, nullptr);
        }
        return count;
    }

    /** Progresses until done() or a limit; `what` is what is waited for. */
    template <typename Done>
    void until(Done &&done, const char *what, double seconds = 30)
    {
        auto deadline = after(seconds);
        while (!done()) {
            progress();
            REQUIRE(Clock::now() < deadline, "waited %g s for %s", seconds,
                    what);
        }
    }

    void for_seconds(double seconds)
    {
        for (auto deadline = after(seconds); Clock::now() < deadline;) {
            progress();
        }
    }

    /** Both sides progress until both have called this. */
    void meet(const Channel &channel, uint64_t mark, double seconds = 40)
    {
        channel.send_mark(mark);
        await(channel, mark, seconds);
    }

    /** Progresses until the other side has sent this mark. */
    void await(const Channel &channel, uint64_t mark, double seconds = 40)
    {
        until([&] { return channel.readable(); }, "the other side", seconds);
        channel.expect_mark(mark);
    }

private:
    using Clock = std::chrono::steady_clock;

    static Clock::time_point after(double seconds)
    {
        return Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                  std::chrono::duration<double>(seconds));
    }

    static constexpr unsigned kIdle = 100; /* polls */

    unsigned             idle_ = 0;
    ucs_async_context_t *async_;
    uct_worker_h         worker_;
};

} // namespace fltest

#endif
