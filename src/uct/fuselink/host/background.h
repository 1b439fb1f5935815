/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_HOST_BACKGROUND_H
#define FUSELINK_HOST_BACKGROUND_H

#include "../sched/units.h"

namespace fuselink {

/**
 * Something that works whatever the program's threads do: in rounds, so that
 * whoever calls them may be a thread of its own (BackgroundThread) or a test
 * that has no threads. All in one thread, but for what says otherwise.
 */
class Background {
public:
    /** What its thread is called, at most 15 characters. */
    virtual const char *name() const = 0;

    /** First of all, where it is going to work. It may be over() then. */
    virtual void begin() = 0;
    /** A round. True if there was something to do: the next one is due. */
    virtual bool step() = 0;
    /** No round comes any more. */
    virtual bool over() const = 0;
    /** When the next round is due after one that had nothing to do, unless
     *  something comes before. An instant of Host::now(). */
    virtual sched::Nanos next_due() const = 0;
    /** Sleeps until something comes, or for so long. */
    virtual void wait(sched::Nanos most) = 0;
    /** Last of all, when it is over(). */
    virtual void end() = 0;

    /** It is to come to an end, in some more rounds. From any thread. */
    virtual void stop() = 0;

    /** The process ends, and this is still at work: whether it is to end before what it
     *  uses does, UCX's own state and the program's objects, or work as long as there is a
     *  process. Its rounds may not wait for the program's threads then. */
    virtual bool ends_at_exit() const { return false; }
    /** In a child of the process, which has no such thread. No round was under way, unless
     *  one took very long. */
    virtual void on_fork() {}

protected:
    ~Background() = default;
};

/** That it is at work. Its destruction stops it and returns when it has
 *  ended. */
class AtWork {
public:
    AtWork()          = default;
    virtual ~AtWork() = default;
    AtWork(const AtWork &)            = delete;
    AtWork &operator=(const AtWork &) = delete;
};

} // namespace fuselink

#endif
