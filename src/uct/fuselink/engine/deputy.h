/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_ENGINE_DEPUTY_H
#define FUSELINK_ENGINE_DEPUTY_H

#include "../host/host.h"
#include "turns.h"

#include <atomic>
#include <memory>
#include <string>

namespace fuselink {

class Engine;

/**
 * Drives an engine while the program computes: data under way needs somebody who
 * acknowledges it, and who fills windows again. A thread of its own, which only looks now
 * and then whether the program calls, and leaves everything to it as long as it does: so a
 * program that waits in MPI is as fast as without, and callbacks are the program's (what
 * it is to be called for meanwhile is held, HeldCalls).
 *
 * While the program is away and nothing happens, it sleeps until a NIC has something.
 *
 * Where the program is bound to CPUs, it works beside them (place_beside()): what the
 * program computes on would be taken from it otherwise.
 */
class Deputy final : private Background {
public:
    Deputy(Host &host, Engine &engine, Turns &turns);
    ~Deputy();
    Deputy(const Deputy &)            = delete;
    Deputy &operator=(const Deputy &) = delete;

    /** Begins. False if there can be no thread; `error` says why, for a log line. */
    bool start(std::string &error);

private:
    /* Background. */
    const char  *name() const override { return "fuselink-deputy"; }
    void         begin() override {}
    bool         step() override;
    bool         over() const override { return stop_.load(std::memory_order_relaxed); }
    sched::Nanos next_due() const override { return next_; }
    void         wait(sched::Nanos most) override;
    void         end() override {}
    void         stop() override;
    bool         ends_at_exit() const override { return true; }
    void         on_fork() override { turns_.share(false); }

    unsigned     work();
    bool         present(sched::Nanos now);
    /* It shares its CPU with others that do not give way. */
    bool         shares(sched::Nanos now) const { return now - helped_[1] < kShares; }
    sched::Nanos tick(sched::Nanos now) const { return shares(now) ? kAwaySoon : kTick; }
    /* Between looks at a program for which there is nothing to do. */
    sched::Nanos idle(sched::Nanos now) const
    {
        return now - moved_ < kLong ? kTickIdle : kTickRare;
    }
    void         place(const Board &board);

    /* A program that has not called for so long is away. One that polls calls more often
     * by a factor of 100, also where it shares its processor with few others. */
    static constexpr sched::Nanos kAway = sched::Nanos::millis(2);
    /* One that was away twice in this time, and came back, waits for its turn on a CPU: it
     * is looked at more often, so that its NICs do not stand still for most of that. */
    static constexpr sched::Nanos kShares   = sched::Nanos::millis(50);
    static constexpr sched::Nanos kAwaySoon = sched::Nanos::micros(500);
    /* Between looks at a program that calls: while it moves data, while it does not, and
     * when it has not for long. */
    static constexpr sched::Nanos kTick     = sched::Nanos::millis(2);
    static constexpr sched::Nanos kTickIdle = sched::Nanos::millis(8);
    static constexpr sched::Nanos kTickRare = sched::Nanos::millis(32);
    /* It moves data if it has in this time. */
    static constexpr sched::Nanos kLately   = sched::Nanos::millis(100);
    static constexpr sched::Nanos kLong     = sched::Nanos::millis(1000);
    /* While it is away: between turns, of which a window is many, and so that what comes
     * in drips is taken in pieces worth a system call; and when so many in a row have found
     * nothing, between looks for what no NIC tells of. */
    static constexpr sched::Nanos kNap    = sched::Nanos::millis(1);
    static constexpr unsigned     kNaps   = 8;
    /* Others may come and go: it is placed anew, if it works. */
    static constexpr sched::Nanos kPlace = sched::Nanos::millis(1000);
    /* Rounds of a turn. If they take so long they move much, and there is more. */
    static constexpr unsigned     kRounds = 4;
    static constexpr sched::Nanos kMuch   = sched::Nanos::micros(400);

    Host                   &host_;
    Engine                 &engine_;
    Turns                  &turns_;
    std::unique_ptr<AtWork> work_;
    std::atomic<bool>       stop_{false};
    int                     wake_fd_; /* eventfd: it is to stop */

    /* Of where it works. */
    uint64_t     calls_  = 0; /* of the program, when it was looked at last */
    uint64_t     events_ = 0;
    sched::Nanos called_;     /* it had called by then */
    sched::Nanos moved_;      /* the same, and had moved data */
    sched::Nanos helped_[2];  /* it had been away, and there was something to do */
    bool         helps_ = false; /* the same, and it is away still */
    sched::Nanos next_;
    sched::Nanos place_at_;
    CpuSet       place_;      /* where it is bound to; none: where the process is */
    unsigned     naps_   = 0; /* in a row, after nothing */
    bool         asleep_  = false; /* until a NIC has something */
};

} // namespace fuselink

#endif
