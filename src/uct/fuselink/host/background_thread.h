/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_HOST_BACKGROUND_THREAD_H
#define FUSELINK_HOST_BACKGROUND_THREAD_H

#include "background.h"

#include <memory>
#include <pthread.h>
#include <string>

namespace fuselink {

/** A thread in which a Background works, by the native clock. */
class BackgroundThread final : public AtWork {
public:
    /** `work` outlives it. nullptr if there can be none; `error` says why, for
     *  a log line. */
    static std::unique_ptr<AtWork> start(Background &work, std::string &error);
    ~BackgroundThread() override;

private:
    explicit BackgroundThread(Background &work) : work_(work) {}

    static void *run(void *work);

    Background &work_;
    bool        started_ = false;
    pthread_t   thread_{};
};

} // namespace fuselink

#endif
