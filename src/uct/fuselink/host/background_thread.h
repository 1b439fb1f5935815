/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_HOST_BACKGROUND_THREAD_H
#define FUSELINK_HOST_BACKGROUND_THREAD_H

#include "background.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <string>

namespace fuselink {

/** A thread in which a Background works, by the native clock. The process may fork at any
 *  time, and end (ProcessThreads). */
class BackgroundThread final : public AtWork {
public:
    /** `work` outlives it. nullptr if there can be none; `error` says why, for
     *  a log line. */
    static std::unique_ptr<AtWork> start(Background &work, std::string &error);
    ~BackgroundThread() override;

private:
    friend class ProcessThreads;

    explicit BackgroundThread(Background &work) : work_(work) {}

    static void *run(void *self);
    void         finish();

    /* Before a fork, and after it in the process and in its child. */
    void hold();
    void go_on();
    void forget();

    Background       &work_;
    std::atomic<bool> started_{false}; /* and nobody has ended it */
    bool              held_    = false;
    pthread_t         thread_{};
    std::timed_mutex  round_; /* held in each */
    std::atomic<bool> pause_{false}; /* none begins: a mutex may let its last owner in first */
};

} // namespace fuselink

#endif
