/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "background_thread.h"

#include "native_clock.h"
#include "process_threads.h"

#include <chrono>
#include <csignal>
#include <cstring>
#include <sys/prctl.h>

namespace fuselink {
namespace {

/* A fork waits for a round that takes longer no further. */
constexpr auto kRound = std::chrono::milliseconds(100);

/* Signals are the program's, but for those that an instruction of the thread's own
 * raises: the kernel would end the process with those, and nobody would say why. */
sigset_t signals_of_others()
{
    sigset_t result;
    sigfillset(&result);
    for (int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS, SIGTRAP}) {
        sigdelset(&result, own);
    }
    return result;
}

} // namespace

std::unique_ptr<AtWork> BackgroundThread::start(Background  &work,
                                                std::string &error)
{
    std::unique_ptr<BackgroundThread> result(new BackgroundThread(work));
    ProcessThreads::add(*result);
    const sigset_t blocked = signals_of_others();
    sigset_t       before;
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    int status = pthread_create(&result->thread_, nullptr, run, result.get());
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
    finish();
    ProcessThreads::remove(*this);
}

void BackgroundThread::finish()
{
    if (started_.exchange(false)) {
        work_.stop();
        pthread_join(thread_, nullptr);
    }
}

void BackgroundThread::hold()
{
    pause_.store(true);
    held_ = round_.try_lock_for(kRound);
}

void BackgroundThread::go_on()
{
    if (held_) {
        held_ = false;
        round_.unlock();
    }
    pause_.store(false);
    pause_.notify_all();
}

void BackgroundThread::forget()
{
    started_ = false;
    go_on();
    work_.on_fork();
}

void *BackgroundThread::run(void *self)
{
    auto       &thread = *static_cast<BackgroundThread *>(self);
    Background &work   = thread.work_;
    prctl(PR_SET_NAME, work.name());
    ProcessThreads::note_own();
    {
        const std::lock_guard<std::timed_mutex> round(thread.round_);
        work.begin();
    }
    while (!work.over()) {
        bool more = false;
        thread.pause_.wait(true);
        {
            const std::lock_guard<std::timed_mutex> round(thread.round_);
            more = work.step();
        }
        if (!more && !work.over()) {
            work.wait(work.next_due() - native_now());
        }
    }
    const std::lock_guard<std::timed_mutex> round(thread.round_);
    work.end();
    return nullptr;
}

} // namespace fuselink
