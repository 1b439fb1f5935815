/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "background_thread.h"

#include "native_clock.h"

#include <csignal>
#include <cstring>
#include <sys/prctl.h>

namespace fuselink {

std::unique_ptr<AtWork> BackgroundThread::start(Background  &work,
                                                std::string &error)
{
    std::unique_ptr<BackgroundThread> result(new BackgroundThread(work));
    /* Signals are the program's. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int status = pthread_create(&result->thread_, nullptr, run, &work);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (status != 0) {
        error = std::string("no thread: ") + strerror(status);
        return nullptr;
    }
    result->started_ = true;
    return result;
}

BackgroundThread::~BackgroundThread()
{
    if (started_) {
        work_.stop();
        pthread_join(thread_, nullptr);
    }
}

void *BackgroundThread::run(void *self)
{
    Background &work = *static_cast<Background *>(self);
    prctl(PR_SET_NAME, work.name());
    for (work.begin(); !work.over();) {
        if (!work.step() && !work.over()) {
            work.wait(work.next_due() - native_now());
        }
    }
    work.end();
    return nullptr;
}

} // namespace fuselink
