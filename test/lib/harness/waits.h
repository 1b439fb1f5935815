/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_WAITS_H
#define FUSELINK_TEST_WAITS_H

#include "channel.h"
#include "failure.h"

#include <chrono>
#include <ctime>

namespace fltest {

/**
 * How a worker waits, by progressing. `Worker` derives from this and has
 * `unsigned poll()`, which progresses once and says how much there was to do.
 */
template <typename Worker> class Waits {
public:
    /** Sleeps a little when there is nothing to do for long: the machines that
     *  run these tests have fewer cores than the tests have processes. Not by
     *  sched_yield(), with which a process among busy ones waits for all of
     *  them each time. */
    unsigned progress()
    {
        static thread_local unsigned idle;
        unsigned count = static_cast<Worker *>(this)->poll();
        if (count != 0) {
            idle = 0;
        } else if (++idle > kIdle) {
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
};

} // namespace fltest

#endif
