/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_HOST_PROCESS_THREADS_H
#define FUSELINK_HOST_PROCESS_THREADS_H

namespace fuselink {

class BackgroundThread;

/**
 * The threads that fuselink has in this process, for what happens to the whole of it:
 *
 * - It forks. The child has none of them, and what one was in the middle of would stay so
 *   for ever, so the fork waits until all are between two rounds.
 * - It ends, and the program has not closed what they work for. Those that
 *   Background::ends_at_exit() end before UCX does, and before what the program has made
 *   by the first of them.
 *
 * Thread-safe.
 */
class ProcessThreads {
public:
    /** Before it begins. */
    static void add(BackgroundThread &thread);
    /** When it has ended, unless a fork has done so. */
    static void remove(BackgroundThread &thread);
    /** The calling thread is one of them. If it forks, as UCX does for a debugger when it
     *  crashes, nobody is waited for. */
    static void note_own();

private:
    static void before_fork();
    static void after_fork();
    static void in_child();
    static void at_exit();
};

} // namespace fuselink

#endif
