/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_ENGINE_DEPUTY_H
#define FUSELINK_ENGINE_DEPUTY_H

#include "../host/host.h"
#include "../sched/presence.h"
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
 * Where there are more processes than CPUs, it gives way to what computes: it works then
 * while nobody else would, and other sessions of the machine need not wait beside it
 * (sched::Presence).
 *
 * Where the program is bound to CPUs, it works beside them (place_beside()): what the
 * program computes on would be taken from it otherwise.
 */
class Deputy final : private Background {
public:
    /** `crowded`: there are more processes than CPUs. */
    Deputy(Host &host, Engine &engine, Turns &turns, bool crowded);
    ~Deputy();
    Deputy(const Deputy &)            = delete;
    Deputy &operator=(const Deputy &) = delete;

    /** Begins. False if there can be no thread; `error` says why, for a log line. */
    bool start(std::string &error);

private:
    /* Background. */
    const char  *name() const override { return "fuselink-deputy"; }
    void         begin() override;
    bool         step() override;
    bool         over() const override { return stop_.load(std::memory_order_relaxed); }
    sched::Nanos next_due() const override { return next_; }
    void         wait(sched::Nanos most) override;
    void         end() override {}
    void         stop() override;
    bool         ends_at_exit() const override { return true; }
    void         on_fork() override { turns_.share(false); }

    unsigned     work();
    bool         is_present(sched::Nanos now);
    void         place(const Board &board);

    /* While it is away: between turns, of which a window is many, and so that what comes
     * in drips is taken in pieces worth a system call; and when so many in a row have found
     * nothing, between looks for what no NIC tells of. */
    static constexpr sched::Nanos kNap    = sched::Nanos::millis(1);
    static constexpr unsigned     kNaps   = 8;
    /* So it has a tenth of what a process has that computes. That is enough where ranks
     * poll in turn, and keeps it from taking theirs. */
    static constexpr int          kNice = 10;
    /* Others may come and go: it is placed anew, if it works. */
    static constexpr sched::Nanos kPlace = sched::Nanos::millis(1000);
    /* Rounds of a turn. If they take so long they move much, and there is more. */
    static constexpr unsigned     kRounds = 4;
    static constexpr sched::Nanos kMuch   = sched::Nanos::micros(400);

    Host                   &host_;
    Engine                 &engine_;
    Turns                  &turns_;
    const bool              crowded_;
    std::unique_ptr<AtWork> work_;
    std::atomic<bool>       stop_{false};
    int                     wake_fd_; /* eventfd: it is to stop */

    /* Of where it works. */
    sched::Presence presence_;
    sched::Nanos    next_;
    sched::Nanos    place_at_;
    CpuSet          place_;    /* where it is bound to; none: where the process is */
    unsigned        naps_   = 0;     /* in a row, after nothing */
    bool            asleep_ = false; /* until a NIC has something */
};

} // namespace fuselink

#endif
